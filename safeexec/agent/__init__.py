from safeexec.agent.extraction import Extraction, extract
