"""Host tools: functions of the host that guest code may call."""
