/**
 * Models service: language models behind the bus, one instance per model and server.
 *
 * Pure joining: the backends do the work.
 */
import type { Capability, Service } from '../bus/capability.ts'
import type { ModelsConfig } from '../config/models.ts'
import type { Clock } from '../core/clock.ts'
import { ok } from '../core/result.ts'
import type { Backend } from './backend.ts'
import { BUILTIN_MODEL, builtinBackend } from './builtin.ts'
import { chatTool, embedTool } from './definitions.ts'
import type { Instance } from './definitions.ts'
import { openAiBackend } from './openai-client.ts'

export interface ModelsParts {
  readonly config: ModelsConfig
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
}

/** It answers in microseconds; the bounds only have to be there. */
const BUILTIN_CONCURRENT = 16
const BUILTIN_SECONDS = 30

export function createModels({ config, environment, clock }: ModelsParts): Service {
  const capabilities = [
    ...(config.builtin ? builtin(clock) : []),
    ...config.endpoints.flatMap(({ url, keyVariable, chat, embed, maxConcurrent, timeoutSeconds }) => {
      // By name: a key in the configuration file would be in every backup of it.
      const key = keyVariable === undefined ? undefined : environment[keyVariable]
      const backend = openAiBackend({ url, key })
      const of = (model: string): Instance => ({ model, backend: backend.name, maxConcurrent, timeoutSeconds })
      return [
        ...chat.map((model) => chatWith(backend, of(model), clock)),
        ...embed.map((model) => embedWith(backend, of(model), clock)),
      ]
    }),
  ]
  return {
    name: 'models',
    prefixes: ['llm', 'embed'],
    capabilities: () => capabilities,
    start: async () => undefined,
    stop: async () => undefined,
    // A server that is away shows in the health of its instances on the bus, which is measured call by call.
    health: () => ({ status: 'ok', details: { instances: capabilities.length } }),
  }
}

function builtin(clock: Clock): readonly Capability[] {
  const instance = {
    model: BUILTIN_MODEL,
    backend: builtinBackend.name,
    maxConcurrent: BUILTIN_CONCURRENT,
    timeoutSeconds: BUILTIN_SECONDS,
  }
  return [chatWith(builtinBackend, instance, clock), embedWith(builtinBackend, instance, clock)]
}

function chatWith(backend: Backend, instance: Instance, clock: Clock): Capability {
  const { model } = instance
  return chatTool(instance).streamedBy(async function* ({ params, input }, { signal }) {
    const startedMs = clock.monotonic()
    const request = { model, messages: input.messages, temperature: params.temperature, maxTokens: params.max_tokens }
    const pieces = backend.chat(request, signal)
    let content = ''
    // By hand rather than with for-await, which would throw away how it ended.
    for (let step = await pieces.next(); ; step = await pieces.next()) {
      if (step.done === true) {
        if (!step.value.ok) return step.value
        const { finishReason, tokensIn, tokensOut } = step.value.value
        return ok({
          data: {
            output: { message: { role: 'assistant', content }, finish_reason: finishReason },
            meta: { ms: clock.monotonic() - startedMs, model, tokens_in: tokensIn, tokens_out: tokensOut },
          },
          usage: { tokensIn, tokensOut },
        })
      }
      content += step.value
      yield { event: 'token', data: { text: step.value } }
    }
  })
}

function embedWith(backend: Backend, instance: Instance, clock: Clock): Capability {
  const { model } = instance
  return embedTool(instance).handledBy(async ({ input }, { signal }) => {
    const startedMs = clock.monotonic()
    const made = await backend.embed({ model, texts: input.texts }, signal)
    if (!made.ok) return made
    const { vectors, tokensIn } = made.value
    return ok({
      data: {
        output: { embeddings: vectors },
        meta: {
          ms: clock.monotonic() - startedMs,
          model,
          tokens_in: tokensIn,
          dimensions: vectors[0]?.length ?? 0,
        },
      },
      usage: { tokensIn },
    })
  })
}
