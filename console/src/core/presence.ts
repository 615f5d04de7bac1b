/**
 * Presence: whether somebody has touched the page lately. A page reads by itself all day; only people keep a session.
 *
 * Does I/O: it listens to pointer and keys.
 */
const QUIET_HEADER = 'x-hearthbus-quiet'
const LATELY_MS = 60_000

let touchedMs = -LATELY_MS

for (const type of ['pointerdown', 'keydown', 'wheel'] as const)
  addEventListener(
    type,
    () => {
      touchedMs = performance.now()
    },
    { capture: true, passive: true },
  )

/** For a request that nobody's hand is behind. */
export const QUIET = { [QUIET_HEADER]: '1' } as const

export function presenceHeaders(): Readonly<Record<string, string>> {
  return performance.now() - touchedMs < LATELY_MS ? {} : QUIET
}
