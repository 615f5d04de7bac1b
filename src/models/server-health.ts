/**
 * Server health: how a model server fared when it was last asked for something, which stands for how it is.
 *
 * Holds the last fault of each; otherwise pure.
 */
import type { Fault } from '../core/fault.ts'
import type { Result } from '../core/result.ts'
import type { ModelBackend } from './model-backend.ts'

/** Hears once that something is wrong, and once that it is not any more, however often it is asked meanwhile. */
export interface ModelServerHealthListener {
  readonly trouble: (message: string) => void
  readonly well: () => void
}

export interface MonitoredBackend extends ModelBackend {
  readonly trouble: () => Fault | undefined
  /** Asks only whether anybody is there. */
  readonly look: (signal: AbortSignal) => Promise<void>
}

/** Says something about the server; that it is busy, or that the caller left, does not. */
const TELLING: ReadonlySet<Fault['kind']> = new Set(['offline', 'failed', 'not-found'])

export function monitorBackend(backend: ModelBackend, news: ModelServerHealthListener): MonitoredBackend {
  let trouble: Fault | undefined
  const note = <Answer extends Result<unknown, Fault>>(answer: Answer): Answer => {
    if (!answer.ok && !TELLING.has(answer.fault.kind)) return answer
    const known = trouble?.message
    trouble = answer.ok ? undefined : answer.fault
    if (trouble !== undefined && trouble.message !== known) news.trouble(trouble.message)
    if (trouble === undefined && known !== undefined) news.well()
    return answer
  }
  return {
    name: backend.name,
    chat: async function* (request, signal) {
      return note(yield* backend.chat(request, signal))
    },
    embed: async (request, signal) => note(await backend.embed(request, signal)),
    trouble: () => trouble,
    look: async (signal) => {
      const reached = await backend.reach?.(signal)
      if (reached !== undefined && !signal.aborted) note(reached)
    },
  }
}
