/**
 * Schedule editor: a week at a glance; a day opens and is written as a whole. It goes through the guard like any
 * change.
 *
 * Does I/O: it writes a day.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { CallResultView } from '../../../src/web/views.ts'
import { callTool } from '../core/api.ts'
import { useAttempt } from '../core/attempt.ts'
import type { Json } from '../core/json.ts'
import { mayAct } from '../core/live.ts'
import {
  DAY_MINUTES,
  dayFlaw,
  DAYS,
  programOf,
  readTime,
  timeText,
  writeArguments,
  writerOf,
} from '../core/schedule.ts'
import type { Program, Slot } from '../core/schedule.ts'
import { Dialog } from './dialog.tsx'
import { Outcome } from './outcome.tsx'
import { Flaw } from './states.tsx'

export function ScheduleEditor({
  programs,
  onChanged,
}: {
  readonly programs: readonly Json[]
  readonly onChanged: () => void
}): JSX.Element {
  const all = programs.map(programOf)
  const [key, setKey] = useState(all.find(({ editable }) => editable)?.key ?? all[0]?.key ?? '')
  const [weekday, setWeekday] = useState<number | undefined>(undefined)
  const program = all.find((one) => one.key === key) ?? all[0]
  if (program === undefined) return <p class="aside">There is none.</p>
  return (
    <>
      <div class="tabs" role="group" aria-label="Programs">
        {all.map((one) => (
          <button key={one.key} type="button" aria-pressed={one.key === program.key} onClick={() => setKey(one.key)}>
            {one.title}
          </button>
        ))}
      </div>
      <ul class="week" aria-label={`Week of ${program.title}`}>
        {DAYS.map((day, index) => (
          <li key={day}>
            <span class="day-name">{day}</span>
            <DayBar slots={program.days[index]} />
            <button
              type="button"
              class="small"
              // Writing replaces a day as a whole: one that nobody has read yet would be lost.
              disabled={!program.editable || !mayAct.value || program.days[index] === undefined}
              aria-label={`Edit ${day}`}
              onClick={() => setWeekday(index)}
            >
              Edit
            </button>
          </li>
        ))}
      </ul>
      {weekday === undefined ? null : (
        <DayDialog program={program} weekday={weekday} onClose={() => setWeekday(undefined)} onChanged={onChanged} />
      )}
    </>
  )
}

function DayBar({ slots }: { readonly slots: readonly Slot[] | undefined }): JSX.Element {
  if (slots === undefined) return <span class="aside">not read yet</span>
  const words = slots.map(slotText).join(', ')
  return (
    <span class="day">
      <svg
        viewBox={`0 0 ${DAY_MINUTES} 20`}
        preserveAspectRatio="none"
        role="img"
        aria-label={words === '' ? 'no times' : words}
      >
        <rect class="day-ground" x={0} y={0} width={DAY_MINUTES} height={20} />
        {slots.map((slot) => (
          <rect
            key={slot.startMinute}
            class="day-slot"
            x={slot.startMinute}
            y={0}
            width={slot.endMinute - slot.startMinute}
            height={20}
          >
            <title>{slotText(slot)}</title>
          </rect>
        ))}
      </svg>
      <span class="day-words" aria-hidden="true">
        {words === '' ? 'no times' : words}
      </span>
    </span>
  )
}

function slotText({ startMinute, endMinute, celsius }: Slot): string {
  return `${timeText(startMinute)}–${timeText(endMinute)}${celsius === undefined ? '' : ` ${celsius}°`}`
}

interface Row {
  readonly start: string
  readonly end: string
  readonly celsius: string
}

function DayDialog({
  program,
  weekday,
  onClose,
  onChanged,
}: {
  readonly program: Program
  readonly weekday: number
  readonly onClose: () => void
  readonly onChanged: () => void
}): JSX.Element {
  const [rows, setRows] = useState<readonly Row[]>(() => (program.days[weekday] ?? []).map(rowOf))
  const { flaw, busy, setFlaw, attempt } = useAttempt()
  const [view, setView] = useState<CallResultView | undefined>(undefined)
  const change = (index: number, part: Partial<Row>): void =>
    setRows(rows.map((row, at) => (at === index ? { ...row, ...part } : row)))

  const write = async (event: Event): Promise<void> => {
    event.preventDefault()
    const slots = rows.flatMap((row) => readRow(row) ?? [])
    const wrong = slots.length < rows.length ? 'Times are written as 06:30.' : dayFlaw(slots, program)
    if (wrong !== undefined) return setFlaw(wrong)
    await attempt(async () => {
      const answer = await callTool(writerOf(program), writeArguments(program, weekday, slots))
      setView(answer)
      if (answer.outcome === 'ok') onChanged()
    })
  }
  return (
    <Dialog title={`${DAYS[weekday] ?? ''}, ${program.title}`} onClose={onClose}>
      <form onSubmit={(event) => void write(event)}>
        <ul class="slots">
          {rows.map((row, index) => (
            <li key={index}>
              <label class="field">
                From
                <input
                  required
                  placeholder="06:00"
                  value={row.start}
                  onInput={({ currentTarget }) => change(index, { start: currentTarget.value })}
                />
              </label>
              <label class="field">
                To
                <input
                  required
                  placeholder="22:00"
                  value={row.end}
                  onInput={({ currentTarget }) => change(index, { end: currentTarget.value })}
                />
              </label>
              {program.hasTemperature ? (
                <label class="field">
                  °C
                  <input
                    type="number"
                    step="0.5"
                    required
                    value={row.celsius}
                    onInput={({ currentTarget }) => change(index, { celsius: currentTarget.value })}
                  />
                </label>
              ) : null}
              <button
                type="button"
                class="small"
                aria-label={`Remove ${row.start}`}
                onClick={() => setRows(rows.filter((_, at) => at !== index))}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
        <div class="buttons">
          <button
            type="button"
            disabled={rows.length >= program.maxSlots}
            onClick={() => setRows([...rows, { start: '', end: '', celsius: '20' }])}
          >
            Add a time
          </button>
          <button type="submit" class="primary" disabled={busy}>
            {busy ? 'Writing …' : 'Write this day'}
          </button>
        </div>
        <Flaw text={flaw} />
        {view === undefined ? null : <Outcome view={view} />}
      </form>
    </Dialog>
  )
}

function rowOf({ startMinute, endMinute, celsius }: Slot): Row {
  return {
    start: timeText(startMinute),
    end: timeText(endMinute),
    celsius: celsius === undefined ? '' : String(celsius),
  }
}

function readRow({ start, end, celsius }: Row): Slot | undefined {
  const [startMinute, endMinute] = [readTime(start), readTime(end)]
  if (startMinute === undefined || endMinute === undefined) return undefined
  const degrees = Number(celsius)
  return { startMinute, endMinute, celsius: celsius.trim() === '' || !Number.isFinite(degrees) ? undefined : degrees }
}
