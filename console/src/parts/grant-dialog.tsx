/** Grant dialog: a yes that holds for more than one call, with its bounds said exactly. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ApprovalView } from '../../../src/web/views.ts'
import { askerOf } from '../core/format.ts'
import { line } from '../core/text.ts'
import { Dialog } from './dialog.tsx'
import { Words } from './words.tsx'

export interface GrantDraft {
  readonly caller: 'same' | 'node'
  readonly target: 'same' | 'any'
  readonly bounds: Readonly<Record<string, { readonly min: number; readonly max: number }>>
  readonly maxUses: number
  readonly durationMs: number
}

const DURATIONS: readonly (readonly [string, number])[] = [
  ['15 minutes', 15 * 60_000],
  ['2 hours', 2 * 3_600_000],
  ['1 day', 86_400_000],
  ['7 days', 7 * 86_400_000],
  ['30 days', 30 * 86_400_000],
]

export function GrantDialog({
  approval,
  onClose,
  onGrant,
}: {
  readonly approval: ApprovalView
  readonly onClose: () => void
  readonly onGrant: (grant: GrantDraft) => void
}): JSX.Element {
  const { binding, shown } = approval
  const numbers = Object.entries(shown.arguments).flatMap(([name, value]) =>
    typeof value === 'number' ? [[name, value] as const] : [],
  )
  const [uses, setUses] = useState('5')
  const [durationMs, setDuration] = useState(String(DURATIONS[1]?.[1] ?? 0))
  const [target, setTarget] = useState<'same' | 'any'>('same')
  const [caller, setCaller] = useState<'same' | 'node'>('same')
  const [bounds, setBounds] = useState<Readonly<Record<string, { readonly min: string; readonly max: string }>>>({})

  const submit = (event: Event): void => {
    event.preventDefault()
    onGrant({
      target,
      caller,
      maxUses: Number(uses),
      durationMs: Number(durationMs),
      bounds: Object.fromEntries(
        Object.entries(bounds).map(([name, { min, max }]) => [name, { min: Number(min), max: Number(max) }]),
      ),
    })
  }
  return (
    <Dialog title="Approve this, and more like it" onClose={onClose}>
      <form onSubmit={submit}>
        <p>
          <Words text={askerOf(approval)} /> may call <code>{line(binding.tool)}</code> again without asking. Every
          argument that you do not loosen here stays exactly as it is.
        </p>
        <div class="fields two">
          <label class="field">
            Times, beyond this one
            <input
              type="number"
              min={1}
              max={1000}
              required
              value={uses}
              onInput={({ currentTarget }) => setUses(currentTarget.value)}
            />
          </label>
          <label class="field">
            For
            <select value={durationMs} onChange={({ currentTarget }) => setDuration(currentTarget.value)}>
              {DURATIONS.map(([name, ms]) => (
                <option key={ms} value={ms}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </div>
        {approval.askedFor === undefined ? null : (
          <fieldset>
            <legend>Caller</legend>
            <label class="choice">
              <input type="radio" name="caller" checked={caller === 'same'} onChange={() => setCaller('same')} /> Only{' '}
              <Words text={approval.askedFor} />, as that node says
            </label>
            <label class="choice">
              <input type="radio" name="caller" checked={caller === 'node'} onChange={() => setCaller('node')} />{' '}
              Everybody for whom that node calls
            </label>
          </fieldset>
        )}
        <fieldset>
          <legend>Device</legend>
          <label class="choice">
            <input type="radio" name="target" checked={target === 'same'} onChange={() => setTarget('same')} /> Only{' '}
            <Words text={shown.label ?? binding.target ?? 'this one'} />
          </label>
          <label class="choice">
            <input type="radio" name="target" checked={target === 'any'} onChange={() => setTarget('any')} /> Every
            device that this tool reaches
          </label>
        </fieldset>
        {numbers.map(([name, value]) => {
          const span = bounds[name]
          return (
            <fieldset key={name}>
              <legend>
                <bdi>{line(name, 60)}</bdi>
              </legend>
              <label class="choice">
                <input
                  type="checkbox"
                  checked={span !== undefined}
                  onChange={({ currentTarget }) => {
                    const { [name]: _, ...rest } = bounds
                    const text = String(value)
                    setBounds(currentTarget.checked ? { ...bounds, [name]: { min: text, max: text } } : rest)
                  }}
                />{' '}
                may vary (it is {value})
              </label>
              {span === undefined ? null : (
                <div class="fields two">
                  <label class="field">
                    from
                    <input
                      type="number"
                      step="any"
                      required
                      value={span.min}
                      onInput={({ currentTarget }) =>
                        setBounds({ ...bounds, [name]: { ...span, min: currentTarget.value } })
                      }
                    />
                  </label>
                  <label class="field">
                    to
                    <input
                      type="number"
                      step="any"
                      required
                      value={span.max}
                      onInput={({ currentTarget }) =>
                        setBounds({ ...bounds, [name]: { ...span, max: currentTarget.value } })
                      }
                    />
                  </label>
                </div>
              )}
            </fieldset>
          )
        })}
        <div class="buttons">
          <button type="submit" class="primary">
            Approve and grant
          </button>
        </div>
      </form>
    </Dialog>
  )
}
