/**
 * Security-critical operations: acts of administration that give control of the house away, or switch off what watches
 * over it. The gates of spec 4 open the way for asking; a person says yes (ADR 162).
 */
const GIVES_AWAY: readonly RegExp[] = [
  // Whoever can log in, and as what.
  /^users\./,
  // Code that runs on the machine, and the radio that reaches the locks.
  /^plugins\./,
  /^interfaces\.(add|update|remove|restart)$/,
  // Passwords and remote access are settings; a restored backup brings old users back.
  /^system\.(config\.set|restore\.start|service\.restart|shutdown)$/,
  // Nobody sees any more what happens.
  /^cameras\.(config\.(update|delete)|recording\.set)$/,
]

export function isSecurityCriticalOperation(op: string): boolean {
  return GIVES_AWAY.some((pattern) => pattern.test(op))
}
