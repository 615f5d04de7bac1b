/**
 * Ask: a tool's answer without its family's envelope. For pages that read; whoever shows a refusal in full keeps the
 * whole answer instead.
 *
 *   eBUS {meta, data, error} · HomeSeer {result} · runtime {ok, data} · devices: the data itself
 */
import type { CallResultView } from '../../../src/web/views.ts'
import { callTool, Failure } from './api.ts'
import { at, isObject, stringAt } from './json.ts'
import type { Json, JsonObject } from './json.ts'
import { plain } from './text.ts'
import { timesOf } from './times.ts'
import type { Times } from './times.ts'

export interface Answer extends Times {
  readonly data: Json
  readonly view: CallResultView
}

export async function ask(
  tool: string,
  body: JsonObject = {},
  options: { readonly node?: string } = {},
): Promise<Answer> {
  const view = await callTool(tool, body, options)
  if (view.outcome !== 'ok') throw new Failure(200, faultText(view))
  const said = at(view.structured, 'data')
  // Spec 5's pattern B: an error inside a success.
  if (isObject(said) && said['ok'] === false)
    throw new Failure(200, plain(stringAt(said, 'error', 'message') ?? 'It failed.'))
  return { data: dataOf(view.structured), ...timesOf(view.structured), view }
}

export function faultText(view: CallResultView): string {
  const reasons = (view.fault?.reasons ?? []).map(({ message }) => message)
  return plain([view.fault?.message ?? `The call was ${view.outcome}.`, ...reasons].join(' '), 600)
}

function dataOf(structured: Json): Json {
  if (!isObject(structured)) return structured
  if (Object.hasOwn(structured, 'meta') && Object.hasOwn(structured, 'data')) return structured['data'] ?? null
  if (Object.hasOwn(structured, 'result')) return structured['result'] ?? null
  if (typeof structured['ok'] === 'boolean' && Object.hasOwn(structured, 'data')) return structured['data'] ?? null
  return structured
}
