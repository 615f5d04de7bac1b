/**
 * Spoken answer: the result of a tool as a voice backend can use it: one text, short enough for every backend, never
 * marked as an error, because several backends drop the text of a result that is.
 */
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { cutToJsonBytes } from '../core/untrusted-text.ts'

/** The cloud accepts 8,192 bytes, including what is around the text. */
const MAX_ANSWER_BYTES = 7_600
const MAX_CHOICES = 6
const MAX_SENTENCES = 8

export function createSpokenResult(text: string): JsonObject {
  return { content: [{ type: 'text', text: cutToJsonBytes(text, MAX_ANSWER_BYTES) }], isError: false }
}

/** The sentence that home tools make for this purpose; else the first text; else the structured content. */
export function toSpokenResult({ content, structuredContent }: JsonObject): JsonObject {
  if (isJsonObject(structuredContent) && typeof structuredContent['say'] === 'string')
    return createSpokenResult(completeSentence(structuredContent['say'], structuredContent))
  const blocks = Array.isArray(content) ? content.filter(isJsonObject) : []
  const text = blocks.find(({ type }) => type === 'text')?.['text']
  return createSpokenResult(typeof text === 'string' ? text : JSON.stringify(structuredContent ?? {}))
}

/** A question comes with its possible answers, a refusal with its reason, and a number of things with the things. */
function completeSentence(
  sentence: string,
  { ask, things, scenes, error, quoted, items, changes }: JsonObject,
): string {
  const names = [...listObjects(things), ...listObjects(scenes)].flatMap(({ name, room }) => {
    if (typeof name !== 'string') return []
    return [typeof room === 'string' ? `${name} in ${room}` : name]
  })
  const choices =
    typeof ask === 'string' && names.length > 0 ? [`${ask} ${names.slice(0, MAX_CHOICES).join(', ')}.`] : []
  const reason = isJsonObject(error) && typeof quoted === 'string' ? [quoted] : []
  const counted = [...listObjects(items).map((item) => item['quoted']), ...listObjects(changes).map(({ say }) => say)]
    .filter((each) => typeof each === 'string')
    .filter((each) => !sentence.includes(each))
  return [sentence, ...choices, ...reason, ...counted.slice(0, MAX_SENTENCES)].join(' ')
}

function listObjects(value: JsonObject[string] | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
