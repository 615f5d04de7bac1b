/**
 * Turn: counts up whenever something that a part shows was announced as changed, or may be old, so that it can be read
 * again.
 *
 * Does I/O: it listens.
 */
import { useEffect, useState } from 'preact/hooks'
import { onResources } from './live.ts'

/** `prefix` and `suffix` are those of the resource's address; `held`: somebody wants to look in peace. */
export function useResourceTurn({
  prefix,
  suffix = '',
  held = false,
}: {
  readonly prefix: string
  readonly suffix?: string
  readonly held?: boolean
}): number {
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (held) return
    const isIt = (uri: string): boolean => uri.startsWith(prefix) && uri.endsWith(suffix)
    return onResources((uris) => (uris === 'any' || uris.some(isIt)) && setTurn((old) => old + 1))
  }, [prefix, suffix, held])
  return turn
}
