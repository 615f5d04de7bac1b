/**
 * Models service: language models behind the bus, one instance per model and server.
 *
 * Only joins; the backends do the work.
 */
import type { Capability, Service } from '../bus/capability.ts'
import type { ModelsConfig } from '../config/models.ts'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import type { Logger } from '../core/logger.ts'
import { ok } from '../core/result.ts'
import type { ModelBackend } from './model-backend.ts'
import { ECHO_MODEL_NAME, echoBackend } from './echo-backend.ts'
import { examineModels, explainMissingApiKeyVariable, listMissingApiKeyVariables } from './doctor-client.ts'
import { createChatTool, createEmbedTool } from './model-tools.ts'
import type { ModelInstance } from './model-tools.ts'
import { createOpenAiBackend } from './openai-client.ts'
import { trackBackendHealth } from './server-health.ts'
import type { MonitoredBackend } from './server-health.ts'

export interface ModelsDependencies {
  readonly config: ModelsConfig
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly logger: Logger
}

/** How often to check whether a server that was unreachable has come back. */
const LOOK_MS = 30_000

/** The built-in model answers in microseconds, so this limit is never reached. */
const BUILTIN_CONCURRENT = 16
const BUILTIN_SECONDS = 30

export function createModelsService({ config, environment, clock, logger }: ModelsDependencies): Service {
  const servers: MonitoredBackend[] = []
  const keyless = listMissingApiKeyVariables(config, environment)
  const troubles = (): readonly Fault[] => servers.flatMap((server) => server.trouble() ?? [])
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const look = (which: readonly MonitoredBackend[]): void => {
    for (const server of which)
      server
        .look(stopping.signal)
        .catch((error: unknown) => logger.error({ err: error }, 'a model server was not looked for'))
  }
  const capabilities = [
    ...(config.builtin ? builtin(clock) : []),
    ...config.endpoints.flatMap(({ url, keyVariable, chat, embed, maxConcurrent, timeoutSeconds }) => {
      // The configuration names a variable: a key in the file itself would be in every backup of it.
      const key = keyVariable === undefined ? undefined : environment[keyVariable]
      const backend = trackBackendHealth(createOpenAiBackend({ url, key: key === '' ? undefined : key }), {
        trouble: (message) => logger.warn({ url }, message),
        well: () => logger.info({ url }, 'the model server answers again'),
      })
      servers.push(backend)
      const of = (model: string): ModelInstance => ({ model, backend: backend.name, maxConcurrent, timeoutSeconds })
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
    start: async () => {
      for (const name of keyless) logger.warn({}, explainMissingApiKeyVariable(name))
      look(servers)
      timer = setInterval(() => look(servers.filter((server) => server.trouble()?.kind === 'offline')), LOOK_MS).unref()
    },
    stop: async () => {
      clearInterval(timer)
      stopping.abort()
    },
    health: () => {
      const known = troubles()
      const advice = [...keyless.map(explainMissingApiKeyVariable), ...known.map(({ message }) => message)].join(' ')
      if (advice === '') return { status: 'ok', details: { instances: capabilities.length } }
      // The same distinction as in the examination (doctor-client.ts).
      const isAway = known.some(({ kind }) => kind !== 'not-found')
      return {
        status: 'degraded',
        details: { advice, instances: capabilities.length, ...(isAway ? { away: true } : {}) },
      }
    },
    examine: () => examineModels({ config, environment, troubles: troubles() }),
  }
}

function builtin(clock: Clock): readonly Capability[] {
  const instance = {
    model: ECHO_MODEL_NAME,
    backend: echoBackend.name,
    maxConcurrent: BUILTIN_CONCURRENT,
    timeoutSeconds: BUILTIN_SECONDS,
  }
  return [chatWith(echoBackend, instance, clock), embedWith(echoBackend, instance, clock)]
}

function chatWith(backend: ModelBackend, instance: ModelInstance, clock: Clock): Capability {
  const { model } = instance
  return createChatTool(instance).streamedBy(async function* ({ params, input }, { signal }) {
    const startedMs = clock.monotonic()
    const request = { model, messages: input.messages, temperature: params.temperature, maxTokens: params.max_tokens }
    const pieces = backend.chat(request, signal)
    let content = ''
    // Iterates by hand, because for-await would discard the generator's return value, which says how the answer ended.
    for (let step = await pieces.next(); ; step = await pieces.next()) {
      if (step.done === true) {
        if (!step.value.ok) return step.value
        const { finishReason, tokensIn, tokensOut } = step.value.value
        return ok({
          data: {
            // The halves of a surrogate pair may arrive in two pieces, or the second one never.
            output: { message: { role: 'assistant', content: content.toWellFormed() }, finish_reason: finishReason },
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

function embedWith(backend: ModelBackend, instance: ModelInstance, clock: Clock): Capability {
  const { model } = instance
  return createEmbedTool(instance).handledBy(async ({ input }, { signal }) => {
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
