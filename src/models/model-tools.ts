/**
 * Model tools: `llm.chat@1.0` and `embed.text@1.0` as the contract defines them: a request has params and input, an
 * answer has output and meta.
 *
 * There is one instance per model. A caller names the model in `params.model`; without it the router chooses. The
 * matcher is data that is sent to other nodes, so a model of another node is found by its name as well.
 */
import { z } from 'zod'
import { defaultFamilyEnvelope } from '../bus/default-family-envelope.ts'
import { defineTool } from '../bus/capability-definition.ts'

/** One model of one server. The bus lists, counts and quarantines each instance separately. */
export interface ModelInstance {
  readonly model: string
  readonly backend: string
  readonly maxConcurrent: number
  readonly timeoutSeconds: number
}

/** Limits for the memory that a peer's request may take: a long conversation, or a very long message. */
const MAX_MESSAGES = 512
const MAX_TEXT = 262_144

const message = z.strictObject({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string().max(MAX_TEXT),
})

const modelName = z.string().max(128).exactOptional().describe('Which model; any if absent.')

const meta = z.object({ ms: z.number(), model: z.string(), tokens_in: z.number(), tokens_out: z.number().optional() })

/** The definition that both tools of one instance share. */
function toInstanceDefinition({ model, backend, maxConcurrent, timeoutSeconds }: ModelInstance) {
  return {
    family: defaultFamilyEnvelope,
    effect: 'reads',
    // Spec 2's levels: any node of the community may call it, and no other node.
    trustRequired: 'member',
    params: { model, backend },
    // Spec 2 § 5.5 as data: the request's `params.model` must equal that of the instance; a request without one matches
    // all.
    matches: { model: 'equals' },
    anywhere: true,
    maxConcurrent,
    timeoutSeconds,
  } as const
}

// oxlint-disable-next-line typescript/explicit-function-return-type -- the type is the schemas', which follow
export const createChatTool = (instance: ModelInstance) =>
  defineTool({
    name: 'llm.chat',
    title: 'Chat with a language model',
    description:
      'Continues a conversation with a language model of this community. Between nodes its words are streamed as they come; over MCP they come together, when all are there. Changes nothing in the house. Name a model in params.model, or leave it out and take whichever is free.',
    input: z.strictObject({
      params: z
        .strictObject({
          model: modelName,
          temperature: z.number().min(0).max(2).exactOptional().describe('0: hardly any variation; 2: the most.'),
          max_tokens: z.int().min(1).max(131_072).exactOptional().describe('Longest answer, in tokens.'),
        })
        .default({}),
      input: z.strictObject({
        messages: z.array(message).min(1).max(MAX_MESSAGES).describe('The conversation so far, oldest first.'),
      }),
    }),
    output: z.object({
      output: z.object({
        message: z.object({ role: z.literal('assistant'), content: z.string() }),
        finish_reason: z.enum(['stop', 'length']),
      }),
      meta,
    }),
    frames: z.object({ event: z.literal('token'), data: z.object({ text: z.string() }) }),
    ...toInstanceDefinition(instance),
    idempotent: false,
  })

// oxlint-disable-next-line typescript/explicit-function-return-type -- the type is the schemas', which follow
export const createEmbedTool = (instance: ModelInstance) =>
  defineTool({
    name: 'embed.text',
    title: 'Turn texts into vectors',
    description:
      'Gives one vector per text, from a model of this community; texts that mean similar things point in similar directions. Vectors of different models do not compare: name the model in params.model.',
    input: z.strictObject({
      params: z.strictObject({ model: modelName }).default({}),
      input: z.strictObject({
        // Common embedding models accept this much at once; longer texts have to be split.
        texts: z.array(z.string().max(8_192)).min(1).max(256).describe('1 to 256 texts of at most 8192 characters.'),
      }),
    }),
    output: z.object({
      output: z.object({ embeddings: z.array(z.array(z.number())) }),
      meta: meta.extend({ dimensions: z.number() }),
    }),
    ...toInstanceDefinition(instance),
    idempotent: true,
  })
