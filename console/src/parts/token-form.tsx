/**
 * Token form: makes a credential; its text is shown this once.
 *
 * Does I/O.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { post } from '../core/api.ts'
import { Code } from './copy.tsx'

const ROLES = ['agent', 'observer', 'approver', 'admin'] as const

export function TokenForm({ onMade }: { readonly onMade: () => void }): JSX.Element {
  const [name, setName] = useState('')
  const [role, setRole] = useState<string>('agent')
  const [days, setDays] = useState('')
  const [made, setMade] = useState('')
  const [flaw, setFlaw] = useState('')
  const make = async (event: Event): Promise<void> => {
    event.preventDefault()
    setFlaw('')
    try {
      const body = { name, role, ...(days === '' ? {} : { expiresInDays: Number(days) }) }
      setMade((await post<{ readonly token: string }>('/api/tokens', body)).token)
      setName('')
      onMade()
    } catch (error) {
      setFlaw(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <>
      <form class="inline" onSubmit={(event) => void make(event)}>
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
      {flaw === '' ? null : (
        <p class="note bad" role="alert">
          {flaw}
        </p>
      )}
      {made === '' ? null : (
        <div class="note good" role="status">
          <p>Keep it now; it is not shown again.</p>
          <Code text={made} label="The token" />
        </div>
      )}
    </>
  )
}
