"""Graphs: networkx."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import INTERPRETER

TABLES = {
    "networkx": Table(
        """
            adamic_adar_index add_cycle add_path add_star adjacency_data adjacency_graph adjacency_matrix
            adjacency_spectrum algebraic_connectivity all_neighbors all_node_cuts all_pairs_all_shortest_paths
            all_pairs_bellman_ford_path all_pairs_bellman_ford_path_length all_pairs_dijkstra all_pairs_dijkstra_path
            all_pairs_dijkstra_path_length all_pairs_lowest_common_ancestor all_pairs_node_connectivity
            all_pairs_shortest_path all_pairs_shortest_path_length all_shortest_paths all_simple_edge_paths
            all_simple_paths all_topological_sorts all_triads all_triangles AmbiguousSolution ancestors antichains
            apply_matplotlib_colors approximate_current_flow_betweenness_centrality ArborescenceIterator arf_layout
            articulation_points astar_path astar_path_length attr_matrix attr_sparse_matrix attracting_components
            attribute_assortativity_coefficient attribute_mixing_dict attribute_mixing_matrix average_clustering
            average_degree_connectivity average_neighbor_degree average_node_connectivity average_shortest_path_length
            balanced_tree barabasi_albert_graph barbell_graph barycenter bellman_ford_path bellman_ford_path_length
            bellman_ford_predecessor_and_distance bethe_hessian_matrix bethe_hessian_spectrum betweenness_centrality
            betweenness_centrality_subset bfs_beam_edges bfs_edges bfs_labeled_edges bfs_layers bfs_layout
            bfs_predecessors bfs_successors bfs_tree biconnected_component_edges biconnected_components
            bidirectional_dijkstra bidirectional_shortest_path binomial_graph binomial_tree bipartite_layout
            boundary_expansion bridges bull_graph capacity_scaling cartesian_product caveman_graph cd_index center
            centroid chain_decomposition check_planarity chordal_cycle_graph chordal_graph_cliques
            chordal_graph_treewidth chordless_cycles chromatic_polynomial chvatal_graph circulant_graph
            circular_ladder_graph circular_layout closeness_centrality closeness_vitality clustering
            cn_soundarajan_hopcroft combinatorial_embedding_to_pos common_neighbor_centrality common_neighbors
            communicability communicability_betweenness_centrality communicability_exp complement
            complete_bipartite_graph complete_graph complete_multipartite_graph complete_to_chordal_graph compose
            compose_all condensation conductance configuration_model connected_caveman_graph connected_components
            connected_dominating_set connected_double_edge_swap connected_watts_strogatz_graph constraint
            contracted_edge contracted_nodes convert_node_labels_to_integers core_number corona_product cost_of_flow
            could_be_isomorphic create_empty_copy cubical_graph current_flow_betweenness_centrality
            current_flow_betweenness_centrality_subset current_flow_closeness_centrality cut_size cycle_basis
            cycle_graph cytoscape_data cytoscape_graph dag_longest_path dag_longest_path_length dag_to_branching
            davis_southern_women_graph dedensify degree degree_assortativity_coefficient degree_centrality
            degree_histogram degree_mixing_dict degree_mixing_matrix degree_pearson_correlation_coefficient
            degree_sequence_tree dense_gnm_random_graph density desargues_graph descendants descendants_at_distance
            describe dfs_edges dfs_labeled_edges dfs_postorder_nodes dfs_predecessors dfs_preorder_nodes dfs_successors
            dfs_tree diameter diamond_graph difference DiGraph dijkstra_path dijkstra_path_length
            dijkstra_predecessor_and_distance directed_combinatorial_laplacian_matrix directed_configuration_model
            directed_edge_swap directed_havel_hakimi_graph directed_joint_degree_graph directed_laplacian_matrix
            directed_modularity_matrix disjoint_union disjoint_union_all dispersion display dodecahedral_graph
            dominance_frontiers dominating_set dorogovtsev_goltsev_mendes_graph double_edge_swap draw draw_bipartite
            draw_circular draw_forceatlas2 draw_kamada_kawai draw_networkx draw_networkx_edge_labels draw_networkx_edges
            draw_networkx_labels draw_networkx_nodes draw_planar draw_random draw_shell draw_spectral draw_spring
            dual_barabasi_albert_graph duplication_divergence_graph eccentricity edge_betweenness_centrality
            edge_betweenness_centrality_subset edge_bfs edge_boundary edge_connectivity
            edge_current_flow_betweenness_centrality edge_current_flow_betweenness_centrality_subset edge_dfs
            edge_disjoint_paths edge_expansion edge_load_centrality edge_subgraph EdgePartition edges
            effective_graph_resistance effective_size efficiency ego_graph eigenvector_centrality
            eigenvector_centrality_numpy empty_graph enumerate_all_cliques equitable_color equivalence_classes
            erdos_renyi_graph estrada_index eulerian_circuit eulerian_path eulerize ExceededMaxIterations
            expected_degree_graph extended_barabasi_albert_graph fast_could_be_isomorphic fast_gnp_random_graph
            faster_could_be_isomorphic fiedler_vector find_asteroidal_triple find_cliques find_cliques_recursive
            find_cycle find_induced_nodes find_minimal_d_separator find_negative_cycle florentine_families_graph
            flow_hierarchy floyd_warshall floyd_warshall_numpy floyd_warshall_predecessor_and_distance
            floyd_warshall_tree forceatlas2_layout freeze from_dict_of_dicts from_dict_of_lists from_edgelist
            from_graph6_bytes from_nested_tuple from_numpy_array from_pandas_adjacency from_pandas_edgelist
            from_prufer_sequence from_scipy_sparse_array from_sparse6_bytes frucht_graph fruchterman_reingold_layout
            full_join full_rary_tree gaussian_random_partition_graph general_random_intersection_graph
            generalized_degree generalized_petersen_graph generate_adjlist generate_edgelist generate_gexf generate_gml
            generate_graphml generate_multiline_adjlist generate_network_text generate_pajek generate_random_paths
            generic_bfs_edges geographical_threshold_graph geometric_edges geometric_soft_configuration_graph
            get_edge_attributes get_node_attributes girth global_efficiency global_parameters global_reaching_centrality
            gn_graph gnc_graph gnm_random_graph gnp_random_graph gnr_graph goldberg_radzik gomory_hu_tree google_matrix
            Graph graph_atlas graph_atlas_g graph_edit_distance GraphMLReader GraphMLWriter greedy_color grid_2d_graph
            grid_graph group_betweenness_centrality group_closeness_centrality group_degree_centrality
            group_in_degree_centrality group_out_degree_centrality gutman_index harmonic_centrality harmonic_diameter
            has_bridges has_eulerian_path has_path HasACycle havel_hakimi_graph heawood_graph hexagonal_lattice_graph
            hits hkn_harary_graph hnm_harary_graph hoffman_singleton_graph house_graph house_x_graph hyper_wiener_index
            hypercube_graph icosahedral_graph identified_nodes immediate_dominators in_degree_centrality
            incidence_matrix incremental_closeness_centrality induced_subgraph information_centrality intersection
            intersection_all intersection_array interval_graph inverse_line_graph is_aperiodic is_arborescence
            is_at_free is_attracting_component is_biconnected is_bipartite is_branching is_chordal is_connected
            is_connected_dominating_set is_d_separator is_digraphical is_directed is_directed_acyclic_graph
            is_distance_regular is_dominating_set is_edge_cover is_empty is_eulerian is_forest is_frozen is_graphical
            is_isolate is_isomorphic is_k_edge_connected is_k_regular is_kl_connected is_matching is_maximal_matching
            is_minimal_d_separator is_multigraphical is_negatively_weighted is_path is_perfect_graph is_perfect_matching
            is_planar is_pseudographical is_regular is_regular_expander is_semiconnected is_semieulerian is_simple_path
            is_strongly_connected is_strongly_regular is_tournament is_tree is_triad
            is_valid_degree_sequence_erdos_gallai is_valid_degree_sequence_havel_hakimi is_valid_directed_joint_degree
            is_valid_joint_degree is_weakly_connected is_weighted isolates jaccard_coefficient johnson join_trees
            joint_degree_graph junction_tree k_components k_core k_corona k_crust k_edge_augmentation k_edge_components
            k_edge_subgraphs k_factor k_random_intersection_graph k_shell k_truss kamada_kawai_layout karate_club_graph
            katz_centrality katz_centrality_numpy kemeny_constant kl_connected_subgraph kneser_graph
            kosaraju_strongly_connected_components krackhardt_kite_graph ladder_graph laplacian_centrality
            laplacian_matrix laplacian_spectrum lattice_reference LCF_graph les_miserables_graph lexicographic_product
            lexicographical_topological_sort LFR_benchmark_graph line_graph load_centrality local_bridges
            local_constraint local_efficiency local_reaching_centrality lollipop_graph lowest_common_ancestor
            magnetic_laplacian_matrix magnetic_spectrum make_clique_bipartite make_max_clique_graph
            margulis_gabber_galil_graph max_flow_min_cost max_weight_clique max_weight_matching maximal_independent_set
            maximal_matching maximum_branching maximum_flow maximum_flow_value maximum_spanning_arborescence
            maximum_spanning_edges maximum_spanning_tree maybe_regular_expander maybe_regular_expander_graph
            min_cost_flow min_cost_flow_cost min_edge_cover min_weight_matching minimum_branching minimum_cut
            minimum_cut_value minimum_cycle_basis minimum_edge_cut minimum_node_cut minimum_spanning_arborescence
            minimum_spanning_edges minimum_spanning_tree mixing_dict mixing_expansion modular_product modularity_matrix
            modularity_spectrum moebius_kantor_graph moral_graph multi_source_dijkstra multi_source_dijkstra_path
            multi_source_dijkstra_path_length MultiDiGraph MultiGraph multipartite_layout mycielski_graph mycielskian
            navigable_small_world_graph negative_edge_cycle neighbors network_simplex NetworkXAlgorithmError
            NetworkXError NetworkXException NetworkXNoCycle NetworkXNoPath NetworkXNotImplemented
            NetworkXPointlessConcept NetworkXTreewidthBoundExceeded NetworkXUnbounded NetworkXUnfeasible
            newman_watts_strogatz_graph node_attribute_xy node_boundary node_clique_number node_connected_component
            node_connectivity node_degree_xy node_disjoint_paths node_expansion node_link_data node_link_graph
            NodeNotFound nodes nodes_with_selfloops non_edges non_neighbors non_randomness nonisomorphic_trees
            normalized_cut_size normalized_laplacian_matrix normalized_laplacian_spectrum NotATree null_graph
            number_attracting_components number_connected_components number_of_cliques number_of_edges
            number_of_isolates number_of_nodes number_of_nonisomorphic_trees number_of_selfloops
            number_of_spanning_trees number_of_walks number_strongly_connected_components
            number_weakly_connected_components numeric_assortativity_coefficient octahedral_graph omega onion_layers
            optimal_edit_paths optimize_edit_paths optimize_graph_edit_distance out_degree_centrality
            overall_reciprocity pagerank paley_graph panther_similarity panther_vector_similarity pappus_graph
            parse_adjlist parse_edgelist parse_gml parse_graphml parse_leda parse_multiline_adjlist parse_pajek
            partial_duplication_graph partition_spanning_tree path_graph path_weight percolation_centrality periphery
            petersen_graph planar_layout PlanarEmbedding planted_partition_graph power PowerIterationFailedConvergence
            powerlaw_cluster_graph predecessor preferential_attachment prefix_tree prefix_tree_recursive projected_graph
            prominent_group quotient_graph ra_index_soundarajan_hopcroft radius random_clustered_graph random_cograph
            random_degree_sequence_graph random_geometric_graph random_internet_as_graph random_k_lift
            random_k_out_graph random_kernel_graph random_labeled_rooted_forest random_labeled_rooted_tree
            random_labeled_tree random_layout random_lobster random_lobster_graph random_partition_graph
            random_powerlaw_tree random_powerlaw_tree_sequence random_reference random_regular_expander_graph
            random_regular_graph random_shell_graph random_spanning_tree random_unlabeled_rooted_forest
            random_unlabeled_rooted_tree random_unlabeled_tree random_walk reciprocity reconstruct_path
            recursive_simple_cycles relabel_gexf_graph relabel_nodes relaxed_caveman_graph remove_edge_attributes
            remove_node_attributes rescale_layout rescale_layout_dict resistance_distance resource_allocation_index
            restricted_view reverse reverse_view rich_club_coefficient ring_of_cliques rooted_product s_metric
            scale_free_graph schultz_index second_order_centrality sedgewick_maze_graph selfloop_edges
            set_edge_attributes set_node_attributes shell_layout shortest_path shortest_path_length
            shortest_simple_paths shrikhande_graph sigma simple_cycles simrank_similarity
            single_source_all_shortest_paths single_source_bellman_ford single_source_bellman_ford_path
            single_source_bellman_ford_path_length single_source_dijkstra single_source_dijkstra_path
            single_source_dijkstra_path_length single_source_shortest_path single_source_shortest_path_length
            single_target_shortest_path single_target_shortest_path_length snap_aggregation soft_random_geometric_graph
            spanner SpanningTreeIterator spectral_bisection spectral_graph_forge spectral_layout spectral_ordering
            spiral_layout spring_layout square_clustering star_graph stochastic_block_model stochastic_graph
            stoer_wagner strong_product strongly_connected_components subgraph subgraph_centrality
            subgraph_centrality_exp subgraph_view sudoku_graph symmetric_difference tadpole_graph tensor_product
            tetrahedral_graph thresholded_random_geometric_graph to_dict_of_dicts to_dict_of_lists to_directed
            to_edgelist to_graph6_bytes to_latex to_latex_raw to_nested_tuple to_networkx_graph to_numpy_array
            to_pandas_adjacency to_pandas_edgelist to_prufer_sequence to_scipy_sparse_array to_sparse6_bytes
            to_undirected topological_generations topological_sort transitive_closure transitive_closure_dag
            transitive_reduction transitivity tree_all_pairs_lowest_common_ancestor tree_broadcast_center
            tree_broadcast_time tree_data tree_graph triad_graph triad_type triadic_census triads_by_type triangles
            triangular_lattice_graph trivial_graph trophic_differences trophic_incoherence_parameter trophic_levels
            truncated_cube_graph truncated_tetrahedron_graph turan_graph tutte_graph tutte_polynomial
            uniform_random_intersection_graph union union_all vf2pp_all_isomorphisms vf2pp_all_monomorphisms
            vf2pp_all_subgraph_isomorphisms vf2pp_is_isomorphic vf2pp_is_monomorphic vf2pp_isomorphism
            vf2pp_monomorphism vf2pp_subgraph_is_isomorphic vf2pp_subgraph_isomorphism visibility_graph volume
            voronoi_cells voterank watts_strogatz_graph waxman_graph weakly_connected_components
            weisfeiler_lehman_graph_hash weisfeiler_lehman_subgraph_hashes wheel_graph wiener_index windmill_graph
            within_inter_cluster write_network_text
        """,
        files="""
            read_adjlist read_edgelist read_gexf read_gml read_graph6 read_graphml read_leda read_multiline_adjlist
            read_pajek read_sparse6 read_weighted_edgelist write_adjlist write_edgelist write_gexf write_gml
            write_graph6 write_graphml write_graphml_lxml write_graphml_xml write_latex write_multiline_adjlist
            write_pajek write_sparse6 write_weighted_edgelist
        """,
        refuse={"config": INTERPRETER},
        aliases={
            "approximation": "networkx.algorithms.approximation",
            "bipartite": "networkx.algorithms.bipartite",
            "community": "networkx.algorithms.community",
            "flow": "networkx.algorithms.flow",
            "isomorphism": "networkx.algorithms.isomorphism",
            "json_graph": "networkx.readwrite.json_graph",
            "tournament": "networkx.algorithms.tournament",
            "tree": "networkx.algorithms.tree",
        },
        note="the code that its decorators write is made of the signatures of its own functions.",
    ),
    "networkx.algorithms.approximation": Table(
        """
            all_pairs_node_connectivity asadpour_atsp average_clustering christofides clique_removal densest_subgraph
            diameter greedy_tsp k_components large_clique_size local_node_connectivity max_clique
            maximum_independent_set metric_closure min_edge_dominating_set min_maximal_matching
            min_weighted_dominating_set min_weighted_vertex_cover node_connectivity one_exchange ramsey_R2
            randomized_partitioning simulated_annealing_tsp steiner_tree threshold_accepting_tsp
            traveling_salesman_problem treewidth_min_degree treewidth_min_fill_in
        """
    ),
    "networkx.algorithms.bipartite": Table(
        """
            alternating_havel_hakimi_graph average_clustering betweenness_centrality biadjacency_matrix birank
            butterflies closeness_centrality clustering collaboration_weighted_projected_graph color
            complete_bipartite_graph configuration_model degree_centrality degrees density eppstein_matching
            from_biadjacency_matrix generate_edgelist generic_weighted_projected_graph gnmk_random_graph
            havel_hakimi_graph hopcroft_karp_matching is_bipartite is_bipartite_node_set latapy_clustering
            maximal_extendability maximum_matching min_edge_cover minimum_weight_full_matching modularity
            node_redundancy overlap_weighted_projected_graph parse_edgelist preferential_attachment_graph
            projected_graph random_graph reverse_havel_hakimi_graph robins_alexander_clustering sets
            spectral_bipartivity to_vertex_cover weighted_projected_graph
        """,
        files="read_edgelist write_edgelist",
    ),
    "networkx.algorithms.community": Table(
        """
            asyn_fluidc asyn_lpa_communities constant_potts_model edge_betweenness_partition
            edge_current_flow_betweenness_partition fast_label_propagation_communities girvan_newman
            greedy_modularity_communities greedy_node_swap_bipartition greedy_source_expansion is_cover is_partition
            k_clique_communities kernighan_lin_bisection label_propagation_communities leiden_communities
            leiden_partitions louvain_communities louvain_partitions lukes_partitioning modularity
            naive_greedy_modularity_communities overlapping_modularity partition_quality spectral_modularity_bipartition
        """
    ),
    "networkx.algorithms.flow": Table(
        """
            boykov_kolmogorov build_flow_dict build_residual_network capacity_scaling cost_of_flow dinitz edmonds_karp
            gomory_hu_tree max_flow_min_cost maximum_flow maximum_flow_value min_cost_flow min_cost_flow_cost
            minimum_cut minimum_cut_value network_simplex preflow_push shortest_augmenting_path
        """
    ),
    "networkx.algorithms.isomorphism": Table(
        """
            categorical_edge_match categorical_multiedge_match categorical_node_match could_be_isomorphic DiGraphMatcher
            fast_could_be_isomorphic faster_could_be_isomorphic generic_edge_match generic_multiedge_match
            generic_node_match GraphMatcher is_isomorphic ISMAGS MultiDiGraphMatcher MultiGraphMatcher
            numerical_edge_match numerical_multiedge_match numerical_node_match rooted_tree_isomorphism
            TimeRespectingDiGraphMatcher TimeRespectingGraphMatcher tree_isomorphism vf2pp_all_isomorphisms
            vf2pp_all_monomorphisms vf2pp_all_subgraph_isomorphisms vf2pp_is_isomorphic vf2pp_is_monomorphic
            vf2pp_isomorphism vf2pp_monomorphism vf2pp_subgraph_is_isomorphic vf2pp_subgraph_isomorphism
        """
    ),
    "networkx.algorithms.tournament": Table(
        """
            arbitrary_element hamiltonian_path index_satisfying is_reachable is_strongly_connected is_tournament
            random_tournament score_sequence tournament_matrix
        """
    ),
    "networkx.algorithms.tree": Table(
        """
            ArborescenceIterator branching_weight center centroid EdgePartition from_nested_tuple from_prufer_sequence
            greedy_branching is_arborescence is_branching is_forest is_tree join_trees junction_tree maximum_branching
            maximum_spanning_arborescence maximum_spanning_edges maximum_spanning_tree minimal_branching
            minimum_branching minimum_spanning_arborescence minimum_spanning_edges minimum_spanning_tree NotATree
            number_of_spanning_trees partition_spanning_tree random_spanning_tree SpanningTreeIterator to_nested_tuple
            to_prufer_sequence
        """
    ),
    "networkx.readwrite.json_graph": Table(
        """
            adjacency_data adjacency_graph cytoscape_data cytoscape_graph node_link_data node_link_graph tree_data
            tree_graph
        """
    ),
    "networkx.exception": Table(
        """
            AmbiguousSolution ExceededMaxIterations HasACycle NetworkXAlgorithmError NetworkXError NetworkXException
            NetworkXNoCycle NetworkXNoPath NetworkXNotImplemented NetworkXPointlessConcept NetworkXUnbounded
            NetworkXUnfeasible NodeNotFound PowerIterationFailedConvergence
        """
    ),
}
