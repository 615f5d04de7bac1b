/** Schema form: a tool's arguments as fields made from its schema, or as JSON where that is easier. */
import type { JSX, TargetedInputEvent } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { Draft, Field } from '../core/schema.ts'
import { line, plain, textOf } from '../core/text.ts'

export function SchemaForm({
  fields,
  draft,
  onChange,
}: {
  readonly fields: readonly Field[]
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
}): JSX.Element {
  if (fields.length === 0) return <p class="aside">It takes no arguments.</p>
  return (
    <div class="fields">
      {fields.map((field) => (
        <FieldRow
          key={field.name}
          field={field}
          value={draft[field.name]}
          onChange={(value) => onChange({ ...draft, [field.name]: value })}
        />
      ))}
    </div>
  )
}

interface FieldProps {
  readonly field: Field
  readonly value: string | boolean | undefined
  readonly onChange: (value: string | boolean | undefined) => void
}

function FieldRow(props: FieldProps): JSX.Element {
  const { field } = props
  const id = useId()
  const hint = [
    field.byDefault === undefined ? undefined : `Otherwise ${textOf(field.byDefault, 60)}.`,
    field.minimum === undefined && field.maximum === undefined
      ? undefined
      : `${field.minimum ?? '…'} to ${field.maximum ?? '…'}.`,
  ].filter((part) => part !== undefined)
  return (
    <div class="field">
      <label for={id}>
        <bdi>{line(field.name, 80)}</bdi>
        {field.required ? <span class="needed"> needed</span> : null}
      </label>
      <Input {...props} id={id} />
      {field.description === '' && hint.length === 0 ? null : (
        <p class="hint" id={`${id}-hint`} dir="auto">
          {plain(field.description, 400)} {hint.join(' ')}
        </p>
      )}
    </div>
  )
}

function Input({ field, value, onChange, id }: FieldProps & { readonly id: string }): JSX.Element {
  const text = typeof value === 'string' ? value : ''
  const described = { id, 'aria-describedby': `${id}-hint`, required: field.required }
  switch (field.kind) {
    case 'boolean':
      return (
        <select
          {...described}
          value={value === undefined ? '' : String(value)}
          onChange={({ currentTarget }) =>
            onChange(currentTarget.value === '' ? undefined : currentTarget.value === 'true')
          }
        >
          <option value="">not said</option>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      )
    case 'choice':
      return (
        <select
          {...described}
          value={text}
          onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
        >
          <option value="">not said</option>
          {field.choices.map((choice) => (
            <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
              {textOf(choice, 80)}
            </option>
          ))}
        </select>
      )
    case 'number':
    case 'integer':
      return (
        <input
          {...described}
          type="number"
          step={field.kind === 'integer' ? 1 : 'any'}
          min={field.minimum}
          max={field.maximum}
          value={text}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )
    case 'json':
      return (
        <textarea
          {...described}
          rows={4}
          class="mono"
          spellcheck={false}
          placeholder="JSON"
          value={text}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )
    case 'text':
      return field.long ? (
        <textarea {...described} rows={3} value={text} onInput={({ currentTarget }) => onChange(currentTarget.value)} />
      ) : (
        <TextInput described={described} secret={field.secret} text={text} onChange={onChange} />
      )
  }
}

function TextInput({
  described,
  secret,
  text,
  onChange,
}: {
  readonly described: { readonly id: string; readonly required: boolean }
  readonly secret: boolean
  readonly text: string
  readonly onChange: (value: string) => void
}): JSX.Element {
  const [shown, setShown] = useState(!secret)
  const shared = {
    ...described,
    autocomplete: 'off',
    value: text,
    onInput: ({ currentTarget }: TargetedInputEvent<HTMLInputElement>) => onChange(currentTarget.value),
  } as const
  return (
    <span class="with-button">
      {shown ? <input {...shared} type="text" /> : <input {...shared} type="password" />}
      {secret ? (
        <button type="button" class="small" onClick={() => setShown(!shown)}>
          {shown ? 'Hide' : 'Show'}
        </button>
      ) : null}
    </span>
  )
}
