"""Law: pure choices, `(facts, policy, now) -> Plan`. No clock, log, settings, randomness or IO."""
