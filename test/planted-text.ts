/**
 * Planted text: finds, in an answer, text that somebody planted and that stands neither between quotation marks nor
 * under `quoted`.
 */
import { isJsonObject, parseJsonReplacingLoneSurrogates } from '../src/core/json.ts'
import type { Json } from '../src/core/json.ts'

/** The texts in which a mark stands loose; a text that is JSON is read as JSON. */
export function findLooseMarks(value: Json, marks: RegExp, isQuoted = false): readonly string[] {
  if (typeof value === 'string') {
    const parsed = value.startsWith('{') ? parseJsonReplacingLoneSurrogates(value) : undefined
    if (parsed !== undefined) return findLooseMarks(parsed, marks, isQuoted)
    return !isQuoted && marks.test(value.replaceAll(/“[^“”]{0,260}”/g, '')) ? [value] : []
  }
  if (Array.isArray(value)) return value.flatMap((each) => findLooseMarks(each as Json, marks, isQuoted))
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([key, each]) => [
    ...(!isQuoted && marks.test(key) ? [key] : []),
    ...findLooseMarks(each, marks, isQuoted || key === 'quoted'),
  ])
}
