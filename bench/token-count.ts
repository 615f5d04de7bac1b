/**
 * Token count: how much of a model's room a text takes, with the tokenizer of OpenAI's present models (o200k_base). The
 * one of Anthropic is not public; it counts some ten percent more for JSON.
 */
import { Tiktoken } from 'js-tiktoken/lite'
import ranks from 'js-tiktoken/ranks/o200k_base'

const encoding = new Tiktoken(ranks)

export function countTokens(value: unknown): number {
  return encoding.encode(typeof value === 'string' ? value : JSON.stringify(value)).length
}

/** Of a list of tools: in all, and without what they answer. */
export function countListTokens(tools: readonly object[]): { readonly all: number; readonly inputSides: number } {
  const inputSides = tools.map((tool) => ({ ...tool, outputSchema: undefined }))
  return { all: countTokens(tools), inputSides: countTokens(inputSides) }
}
