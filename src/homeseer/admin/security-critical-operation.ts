/**
 * Security-critical operations: administration operations that give others control of the house, or switch off its
 * surveillance. Passing the gates of spec 4 is not enough for them; a person has to approve each (ADR 162).
 */
const GIVES_AWAY: readonly RegExp[] = [
  // Who can log in, and with which rights.
  /^users\./,
  // Code that runs on the machine, and the radio that reaches the locks.
  /^plugins\./,
  /^interfaces\.(add|update|remove|restart)$/,
  // Passwords and remote access are settings; a restored backup brings old users back.
  /^system\.(config\.set|restore\.start|service\.restart|shutdown)$/,
  // Operations after which a camera no longer records.
  /^cameras\.(config\.(update|delete)|recording\.set)$/,
]

export function isSecurityCriticalOperation(op: string): boolean {
  return GIVES_AWAY.some((pattern) => pattern.test(op))
}
