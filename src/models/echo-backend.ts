/**
 * Echo backend: the same answer to the same words, always. It understands nothing; with it, everything around a model
 * can be tried out and tested without a real model.
 *
 *   chat    says how many turns there were and repeats the last words
 *   embed   a signed bag of hashed words, unit length
 */
import { blake3 } from '@noble/hashes/blake3.js'
import { toUtf8 } from '../core/bytes.ts'
import { ok } from '../core/result.ts'
import type { ModelBackend } from './model-backend.ts'

/** The name says what it does, so that nobody takes it for a real model. */
export const ECHO_MODEL_NAME = 'hearthbus-echo'
/** Few enough to read in a test, enough that unrelated words rarely share a place. */
const DIMENSIONS = 64
const DEFAULT_MAX_TOKENS = 512

export const echoBackend: ModelBackend = {
  name: 'builtin',
  chat: async function* ({ messages, maxTokens = DEFAULT_MAX_TOKENS }, signal) {
    const userMessages = messages.filter(({ role }) => role === 'user')
    // The number of turns shows whether a conversation stayed with one provider.
    const words = wordsOf(`Turn ${userMessages.length}: ${userMessages.at(-1)?.content ?? ''}`)
    const spoken = words.slice(0, maxTokens)
    for (const [index, word] of spoken.entries()) {
      if (signal.aborted) break
      yield index === 0 ? word : ` ${word}`
    }
    const tokensIn = messages.reduce((sum, { content }) => sum + wordsOf(content).length, 0)
    return ok({ finishReason: spoken.length < words.length ? 'length' : 'stop', tokensIn, tokensOut: spoken.length })
  },
  embed: ({ texts }) =>
    Promise.resolve(
      ok({
        vectors: texts.map(vectorOf),
        tokensIn: texts.reduce((sum, text) => sum + wordsOf(text).length, 0),
      }),
    ),
}

/** Texts that share words point in similar directions. */
function vectorOf(text: string): readonly number[] {
  const vector = Array.from({ length: DIMENSIONS }, () => 0)
  for (const word of wordsOf(text.toLowerCase())) {
    // A sign from the hash keeps long texts from all pointing the same way.
    const [place = 0, sign = 0] = blake3(toUtf8(word))
    const at = place % DIMENSIONS
    vector[at] = (vector[at] ?? 0) + (sign % 2 === 0 ? 1 : -1)
  }
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((value) => value / length)
}

function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}
