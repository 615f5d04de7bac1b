/**
 * Load: something that has to be fetched, with all the states that it can be in, and a way to fetch it again.
 *
 *   loading ──▶ there (age known) ──again──▶ there, renewing ──failed──▶ there, but stale, with the reason
 *          └──▶ failed ──again──▶ loading
 *
 * Does I/O: it asks, and has timers.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { sentenceOf } from './attempt.ts'
import { gatewayMs } from './clock.ts'

export interface Loaded<Value> {
  readonly value: Value | undefined
  readonly error: string | undefined
  readonly loading: boolean
  readonly atMs: number | undefined
  readonly reload: () => void
}

/** What takes long to fetch is fetched seldom: it rests for this many times as long as it took, up to a limit. */
const REST_RATIO = 10
const LONGEST_REST_MS = 15_000

/** Fetches at once and whenever a dependency changes; never twice at a time, and not more often than `restMs`. */
export function useLoad<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  dependencies: readonly unknown[],
  restMs = 0,
): Loaded<Value> {
  const state = useSignal<Omit<Loaded<Value>, 'reload'>>({
    value: undefined,
    error: undefined,
    loading: true,
    atMs: undefined,
  })
  const latest = useRef(load)
  latest.current = load
  const run = useRef({
    running: false,
    again: false,
    beganMs: 0,
    endedMs: 0,
    timer: 0,
    alive: true,
    abort: new AbortController(),
  })

  const fetchIt = (): void => {
    const job = run.current
    if (job.running) {
      job.again = true
      return
    }
    const tookMs = job.endedMs - job.beganMs
    const waitMs =
      job.endedMs + (restMs === 0 ? 0 : Math.max(restMs, Math.min(tookMs * REST_RATIO, LONGEST_REST_MS))) - Date.now()
    if (waitMs > 0) {
      if (job.timer === 0)
        job.timer = window.setTimeout(() => {
          job.timer = 0
          fetchIt()
        }, waitMs)
      return
    }
    job.running = true
    job.beganMs = Date.now()
    job.abort = new AbortController()
    state.value = { ...state.peek(), loading: true }
    void attempt(job)
  }

  const attempt = async (job: typeof run.current): Promise<void> => {
    try {
      const value = await latest.current(job.abort.signal)
      if (job.alive) state.value = { value, error: undefined, loading: false, atMs: gatewayMs() }
    } catch (error) {
      if (job.alive) state.value = { ...state.peek(), error: sentenceOf(error), loading: false }
    }
    job.running = false
    job.endedMs = Date.now()
    const again = job.again && job.alive
    job.again = false
    if (again) fetchIt()
  }

  // oxlint-disable-next-line exhaustive-deps -- the caller says what it depends on
  useEffect(fetchIt, dependencies)
  useEffect(() => {
    run.current.alive = true
    return () => {
      const job = run.current
      job.alive = false
      job.abort.abort()
      clearTimeout(job.timer)
      job.timer = 0
    }
  }, [])
  return { ...state.value, reload: fetchIt }
}
