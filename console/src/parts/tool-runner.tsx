/**
 * Tool runner: a tool, its form, a dry run where it has one, and what came of it. Used by the catalogue, by devices,
 * and wherever something in the house is changed.
 *
 * Does I/O: it calls the tool.
 */
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { CallResultView, ToolView } from '../../../src/web/views.ts'
import { callTool } from '../core/api.ts'
import { useAttempt } from '../core/attempt.ts'
import type { JsonObject } from '../core/json.ts'
import { isObject } from '../core/json.ts'
import { draftOf, fieldsOf, readDraft } from '../core/schema.ts'
import type { Read } from '../core/schema.ts'
import { Outcome } from './outcome.tsx'
import { SchemaForm } from './schema-form.tsx'
import { Flaw } from './states.tsx'

export function ToolRunner({
  tool,
  given = {},
  onDone,
  onBody,
}: {
  readonly tool: ToolView
  readonly given?: JsonObject
  readonly onDone?: (view: CallResultView) => void
  readonly onBody?: (body: JsonObject) => void
}): JSX.Element {
  const fields = useMemo(() => fieldsOf(tool.inputSchema), [tool])
  const [draft, setDraft] = useState(() => draftOf(fields, given))
  const [text, setText] = useState<string | undefined>(undefined)
  const [view, setView] = useState<CallResultView | undefined>(undefined)
  const { flaw, busy: running, setFlaw, attempt } = useAttempt()
  const dryRun = fields.some(({ name }) => name === 'dryRun')

  const read = (): Read => (text === undefined ? readDraft(fields, draft) : readText(text))
  const run = async (more: JsonObject): Promise<void> => {
    const current = read()
    if (!current.ok) return setFlaw(current.flaw)
    await attempt(async () => {
      const answer = await callTool(tool.name, { ...current.body, ...more })
      setView(answer)
      onDone?.(answer)
    })
  }
  const change = (next: typeof draft): void => {
    setDraft(next)
    const current = readDraft(fields, next)
    if (current.ok) onBody?.(current.body)
  }
  const toggleText = (): void => {
    const current = read()
    if (text === undefined) return setText(JSON.stringify(current.ok ? current.body : given, null, 2))
    if (current.ok) setDraft(draftOf(fields, current.body))
    setText(undefined)
  }

  return (
    <form
      class="runner"
      onSubmit={(event) => {
        event.preventDefault()
        void run({})
      }}
    >
      {text === undefined ? (
        <SchemaForm fields={fields} draft={draft} onChange={change} />
      ) : (
        <textarea
          class="mono"
          rows={10}
          aria-label="Arguments as JSON"
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      )}
      <Flaw text={flaw} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={running}>
          {running ? 'Running …' : 'Run'}
        </button>
        {dryRun ? (
          <button type="button" disabled={running} onClick={() => void run({ dryRun: true })}>
            Dry run
          </button>
        ) : null}
        <button type="button" class="quiet" onClick={toggleText}>
          {text === undefined ? 'Edit as JSON' : 'Edit as fields'}
        </button>
      </div>
      {view === undefined ? null : <Outcome view={view} />}
    </form>
  )
}

function readText(text: string): Read {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    return isObject(value) ? { ok: true, body: value } : { ok: false, flaw: 'The arguments are not a JSON object.' }
  } catch {
    return { ok: false, flaw: 'The arguments are not JSON.' }
  }
}
