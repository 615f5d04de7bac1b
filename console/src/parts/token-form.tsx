/** Token form: makes a credential; its text is shown this once. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { post } from '../core/api.ts'
import { useAttempt } from '../core/attempt.ts'
import { Code } from './copy.tsx'
import { Flaw } from './states.tsx'

const ROLES = ['agent', 'observer', 'approver', 'admin'] as const

export function TokenForm({ onMade }: { readonly onMade: () => void }): JSX.Element {
  const [name, setName] = useState('')
  const [role, setRole] = useState<string>('agent')
  const [days, setDays] = useState('')
  const [made, setMade] = useState('')
  const { flaw, attempt } = useAttempt()
  const make = async (): Promise<void> => {
    const body = { name, role, ...(days === '' ? {} : { expiresInDays: Number(days) }) }
    setMade((await post<{ readonly token: string }>('/api/tokens', body)).token)
    setName('')
    onMade()
  }
  return (
    <>
      <form
        class="inline"
        onSubmit={(event) => {
          event.preventDefault()
          void attempt(make)
        }}
      >
        <label class="field">
          Name
          <input
            required
            maxLength={64}
            pattern="[a-z0-9][a-z0-9._\-]*"
            placeholder="kitchen-agent"
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        <label class="field">
          Role
          <select value={role} onChange={({ currentTarget }) => setRole(currentTarget.value)}>
            {ROLES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label class="field">
          Days (optional)
          <input
            type="number"
            min={1}
            max={3650}
            value={days}
            onInput={({ currentTarget }) => setDays(currentTarget.value)}
          />
        </label>
        <button type="submit">Make a token</button>
      </form>
      <Flaw text={flaw} />
      {made === '' ? null : (
        <div class="note good" role="status">
          <p>Keep it now; it is not shown again.</p>
          <Code text={made} label="The token" />
        </div>
      )}
    </>
  )
}
