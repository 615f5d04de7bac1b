/** Stop: the emergency stop. Whoever may act or approve pulls it; only an admin releases it. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { post, remove } from '../core/api.ts'
import { useAttempt } from '../core/attempt.ts'
import { isAdmin, me, reloadStatus, status } from '../core/live.ts'
import { Dialog } from './dialog.tsx'
import { Flaw } from './states.tsx'

export function StopButton(): JSX.Element | null {
  const [asking, setAsking] = useState(false)
  const [reason, setReason] = useState('')
  const { flaw, attempt } = useAttempt()
  const stopped = status.value?.stopped === true
  if (me.value?.role === 'observer') return null

  const act = (work: () => Promise<unknown>): Promise<void> =>
    attempt(async () => {
      await work()
      await reloadStatus()
      setAsking(false)
    })
  if (stopped) {
    if (!isAdmin.value) return <p class="who">Stopped</p>
    return (
      <button type="button" class="stop" onClick={() => void act(() => remove('/api/stop'))}>
        Resume
      </button>
    )
  }
  return (
    <>
      <button type="button" class="stop" onClick={() => setAsking(true)}>
        Stop everything
      </button>
      {asking ? (
        <Dialog title="Stop everything" onClose={() => setAsking(false)}>
          <form
            onSubmit={(event) => {
              event.preventDefault()
              void act(() => post('/api/stop', { reason: reason === '' ? 'stopped at the console' : reason }))
            }}
          >
            <p>Every change is refused, whoever asks, until an admin resumes. Reading goes on.</p>
            <label class="field">
              Why (for the record)
              <input value={reason} maxLength={500} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
            </label>
            <Flaw text={flaw} />
            <div class="buttons">
              <button type="submit" class="danger">
                Stop everything
              </button>
            </div>
          </form>
        </Dialog>
      ) : null}
    </>
  )
}
