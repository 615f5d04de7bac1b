/**
 * Attempt: something that a person does here and that may be refused: whether it is under way, and why it failed.
 *
 * Does I/O: it does what it is given.
 */
import { useState } from 'preact/hooks'

export interface Attempt {
  /** Why the last one failed; empty when it did not. */
  readonly flaw: string
  readonly busy: boolean
  readonly setFlaw: (flaw: string) => void
  readonly attempt: (work: () => Promise<unknown>) => Promise<void>
}

export function useAttempt(): Attempt {
  const [flaw, setFlaw] = useState('')
  const [busy, setBusy] = useState(false)
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    setFlaw('')
    setBusy(true)
    try {
      await work()
    } catch (error) {
      setFlaw(sentenceOf(error))
    } finally {
      setBusy(false)
    }
  }
  return { flaw, busy, setFlaw, attempt }
}

export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
