/** Outcome: what came of a call, for whoever made it: the answer, or the refusal with every reason and what to do. */
import type { JSX } from 'preact'
import type { CallResultView } from '../../../src/web/views.ts'
import { isObject, listAt, stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { href } from '../core/route.ts'
import { plain } from '../core/text.ts'
import { JsonTree } from './json-tree.tsx'
import { Badge } from './words.tsx'

export function Outcome({ view }: { readonly view: CallResultView }): JSX.Element {
  const { outcome, fault, structured, content, traceId } = view
  return (
    <div class={`outcome ${outcome}`} role="status">
      <p class="outcome-head">
        <Badge tone={outcome === 'ok' ? 'good' : outcome === 'denied' ? 'warn' : 'bad'}>
          {outcome === 'ok' ? 'done' : outcome}
        </Badge>{' '}
        <a href={href('calls', traceId)}>This call’s page</a>
      </p>
      {fault === undefined ? null : <Refusal fault={fault} />}
      <Pictures content={content ?? null} />
      <details open={outcome === 'ok'}>
        <summary>Answer</summary>
        <JsonTree value={structured} />
      </details>
    </div>
  )
}

function Refusal({ fault }: { readonly fault: NonNullable<CallResultView['fault']> }): JSX.Element {
  return (
    <>
      <p dir="auto">{plain(fault.message)}</p>
      {fault.reasons.length === 0 ? null : (
        <ul>
          {fault.reasons.map(({ rule, message }) => (
            <li key={rule + message} dir="auto">
              {plain(message)}
            </li>
          ))}
        </ul>
      )}
      {fault.kind === 'approval-required' ? (
        <p>
          Somebody else has to say yes: <a href={href('approvals')}>Approvals</a>, or <code>hearthbus approvals</code>.
        </p>
      ) : null}
    </>
  )
}

const PICTURE = /^image\/(?:jpeg|png|gif|webp)$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const MAX_PICTURES = 8

/** Photos of a device or a camera. Anything that is not plainly a picture stays text. */
function Pictures({ content }: { readonly content: Json }): JSX.Element | null {
  const pictures = listAt({ content }, 'content')
    .flatMap((block) => {
      const [type, data] = [stringAt(block, 'mimeType') ?? '', stringAt(block, 'data') ?? '']
      if (!isObject(block) || block['type'] !== 'image' || !PICTURE.test(type) || !BASE64.test(data)) return []
      return [`data:${type};base64,${data}`]
    })
    .slice(0, MAX_PICTURES)
  if (pictures.length === 0) return null
  return (
    <div class="pictures">
      {pictures.map((source, index) => (
        <img key={index} src={source} alt="What the device sent" />
      ))}
    </div>
  )
}
