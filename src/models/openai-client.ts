/**
 * OpenAI client: any server that speaks `/chat/completions` and `/embeddings`. Ollama, llama.cpp, vLLM and others do.
 *
 * All answers are bounded and checked. The server's token counts are used as they are; if it gives none, words are
 * counted.
 */
import { z } from 'zod'
import type { Fault } from '../core/fault.ts'
import { omitUndefined, parseJsonOrUndefined } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readResponseText } from '../toolbox/response-body.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import { sanitizeText } from '../core/untrusted-text.ts'
import type { ModelBackend, ChatCompletionEnd, ChatRequest } from './model-backend.ts'

export interface OpenAiOptions {
  /** The URL up to and including `/v1`. */
  readonly url: string
  readonly key: string | undefined
}

/** 256 texts of 16,384 numbers would exceed this; answers of real models take a tenth of it. */
const MAX_ANSWER_BYTES = 33_554_432
const MAX_LINE = 1_048_576
/** The time-out for checking whether the server answers. */
const REACH_MS = 5_000

const MAX_RETRY_SECONDS = 3_600

/** A value that is not a number of tokens counts as absent. */
const tokens = z.int().min(0).optional().catch(undefined)

/**
 * The schema is lenient: servers leave members out, set them to null and add their own. Only members that are used here
 * are checked.
 */
const chunk = z.object({
  choices: z
    .array(
      z.object({
        delta: z.object({ content: z.string().nullish() }).nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .default([]),
  usage: z.object({ prompt_tokens: tokens, completion_tokens: tokens }).nullish(),
})

const embeddings = z.object({
  data: z.array(z.object({ index: z.int().min(0), embedding: z.array(z.number()).min(1).max(16_384) })),
  usage: z.object({ prompt_tokens: tokens }).nullish(),
})

export function createOpenAiBackend(options: OpenAiOptions): ModelBackend {
  const name = new URL(options.url).host
  return {
    name,
    chat: (request, signal) => chat(options, request, signal),
    reach: (signal) => reach(options, signal),
    embed: async ({ model, texts }, signal) => {
      const answered = await post(options, '/embeddings', { model, input: texts }, signal)
      if (!answered.ok) return answered
      const text = await readResponseText(answered.value, MAX_ANSWER_BYTES).catch(() => undefined)
      const parsed = embeddings.safeParse(parseJsonOrUndefined(text))
      const inOrder = parsed.success ? parsed.data.data.toSorted((left, right) => left.index - right.index) : []
      // If one index occurred twice, a text would get the vector of another.
      if (!parsed.success || inOrder.length !== texts.length || inOrder.some(({ index }, at) => index !== at))
        return fail(malformedAnswer(`${name} did not answer one vector per text.`))
      return ok({
        vectors: inOrder.map(({ embedding }) => embedding),
        tokensIn: parsed.data.usage?.prompt_tokens ?? words(texts.join(' ')),
      })
    },
  }
}

/** Requests the list of models: any answer shows that the server is reachable. */
async function reach(options: OpenAiOptions, signal: AbortSignal): Promise<Result<undefined, Fault>> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(REACH_MS)])
  const answered = await ask(options, '/models', { method: 'GET', signal: patience })
  // A server that does not answer within the time-out counts as unreachable.
  if (!answered.ok) return fail(signal.aborted ? answered.fault : unreachable(options.url))
  await answered.value.body?.cancel()
  const { status } = answered.value
  return status === 401 || status === 403 ? fail(statusFault(options, answered.value)) : ok(undefined)
}

async function* chat(
  options: OpenAiOptions,
  { model, messages, temperature, maxTokens }: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<string, Result<ChatCompletionEnd, Fault>, void> {
  const body = {
    model,
    messages,
    stream: true,
    // Without this option most servers do not count the tokens of a stream.
    stream_options: { include_usage: true },
    ...omitUndefined({ temperature, max_tokens: maxTokens }),
  }
  const answered = await post(options, '/chat/completions', body, signal)
  if (!answered.ok) return answered
  let [text, half, finish] = ['', '', 'stop']
  let usage: z.infer<typeof chunk>['usage']
  try {
    for await (const line of lines(answered.value)) {
      if (!line.startsWith('data:')) continue
      const data = line.slice(5).trim()
      if (data === '[DONE]') break
      const parsed = chunk.safeParse(parseJsonOrUndefined(data))
      if (!parsed.success) return fail(malformedAnswer(`${options.url} sent something that is not part of an answer.`))
      usage = parsed.data.usage ?? usage
      const [choice] = parsed.data.choices
      finish = choice?.finish_reason ?? finish
      const received = half + (choice?.delta?.content ?? '')
      // The halves of a surrogate pair may arrive in two pieces; a half alone cannot be checked for visibility, so it
      // is held back.
      half = /[\uD800-\uDBFF]$/.exec(received)?.[0] ?? ''
      const piece = sanitizeText(received.slice(0, received.length - half.length).toWellFormed())
      if (piece === '') continue
      text += piece
      yield piece
    }
  } catch (error) {
    return fail(brokenOff(options.url, error, signal))
  }
  if (half !== '') yield half.toWellFormed()
  return ok({
    finishReason: finish === 'length' ? 'length' : 'stop',
    tokensIn: usage?.prompt_tokens ?? words(messages.map(({ content }) => content).join(' ')),
    tokensOut: usage?.completion_tokens ?? words(text),
  })
}

async function post(
  options: OpenAiOptions,
  path: string,
  body: object,
  signal: AbortSignal,
): Promise<Result<Response, Fault>> {
  const answered = await ask(options, path, { method: 'POST', signal, body: JSON.stringify(body) })
  if (!answered.ok || answered.value.ok) return answered
  // The body of the refusal is not repeated, because it may contain the key.
  await answered.value.body?.cancel()
  return fail(statusFault(options, answered.value))
}

async function ask(
  { url, key }: OpenAiOptions,
  path: string,
  request: { readonly method: string; readonly signal: AbortSignal; readonly body?: string },
): Promise<Result<Response, Fault>> {
  try {
    const response = await fetch(`${url.replace(/\/$/, '')}${path}`, {
      ...request,
      // A redirect would send the key to an address that the owner did not configure.
      redirect: 'error',
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
    })
    return ok(response)
  } catch (error) {
    if (request.signal.aborted) return fail(brokenOff(url, error, request.signal))
    return fail(unreachable(url))
  }
}

function unreachable(url: string): Fault {
  return { kind: 'offline', code: 'partition', message: `The model server at ${url} cannot be reached.` }
}

function statusFault({ url, key }: OpenAiOptions, { status, headers }: Response): Fault {
  const seconds = Number(headers.get('retry-after'))
  // `busy` makes the router try another instance, and leave this one alone for that time.
  if (status === 429 || status === 503)
    return {
      kind: 'busy',
      code: 'capacity_exceeded',
      message: `The model server at ${url} is busy.`,
      retryAfterMs: seconds > 0 ? Math.min(seconds, MAX_RETRY_SECONDS) * 1_000 : 1_000,
    }
  if (status === 404) return { kind: 'not-found', code: 'not_found', message: `${url} does not have that model.` }
  const refused = `refuses this node (${status}): it wants ${key === undefined ? 'a key, and none is set' : 'another key'}`
  const problem = status === 401 || status === 403 ? refused : `answered ${status}`
  return { kind: 'failed', code: 'internal_error', message: `The model server at ${url} ${problem}.` }
}

/** Throws when the answer is longer than any valid one. */
async function* pieces(response: Response): AsyncGenerator<string, void, void> {
  let length = 0
  const decoder = new TextDecoder()
  for await (const part of response.body ?? []) {
    length += part.length
    if (length > MAX_ANSWER_BYTES) throw new RangeError('the answer does not end')
    yield decoder.decode(part, { stream: true })
  }
}

/** The lines of an event stream; a single token never exceeds the limit for a line. */
async function* lines(response: Response): AsyncGenerator<string, void, void> {
  let held = ''
  for await (const piece of pieces(response)) {
    held += piece
    const whole = held.split('\n')
    held = whole.pop() ?? ''
    if (held.length > MAX_LINE) throw new RangeError('a line of the answer does not end')
    yield* whole
  }
  if (held !== '') yield held
}

function brokenOff(url: string, error: unknown, signal: AbortSignal): Fault {
  if (signal.aborted)
    return { kind: 'cancelled', code: 'cancelled', message: 'The caller no longer waits for the answer.' }
  const why = readErrorMessage(error)
  return { kind: 'failed', code: 'internal_error', message: `The model server at ${url} broke off: ${why}.` }
}

function malformedAnswer(message: string): Fault {
  return { kind: 'failed', code: 'internal_error', message }
}

function words(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length
}
