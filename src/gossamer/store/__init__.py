"""SQL of the engine, one module per noun: functions of an open transaction."""
