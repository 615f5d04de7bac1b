/**
 * Clock: what time it is at the gateway. All that a page shows was stamped there, and a tablet on a wall may be an hour
 * off: how old a value is, and how long a question stays open, is told by the clock that stamped it.
 *
 * Does I/O: it reads the clock.
 */
let aheadMs = 0

/** What the gateway said a moment ago. */
export function setClock(gatewayMs: number): void {
  aheadMs = gatewayMs - Date.now()
}

export function gatewayMs(): number {
  return Date.now() + aheadMs
}
