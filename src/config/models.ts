/**
 * Models section: language models that this node offers to its community.
 */
import { z } from 'zod'

const endpoint = z.strictObject({
  url: z.url().describe('Where an OpenAI-compatible server answers, up to and including /v1.'),
  // The name of the variable, never the key itself: this file is copied, shown and backed up.
  keyVariable: z
    .string()
    .regex(/^[A-Z_][A-Z0-9_]*$/, 'the name of an environment variable')
    .exactOptional()
    .describe('Environment variable that holds the key for it; no key if absent.'),
  chat: z.array(z.string().min(1).max(128)).default([]).describe('Models that it chats with.'),
  embed: z.array(z.string().min(1).max(128)).default([]).describe('Models that it embeds texts with.'),
  maxConcurrent: z.int().min(1).default(2).describe('Requests to one model at once.'),
  timeoutSeconds: z.int().min(1).max(3_600).default(120).describe('How long an answer may take.'),
})

export const modelsConfigSchema = z
  .strictObject({
    builtin: z
      .boolean()
      .default(false)
      .describe('Offer a small built-in model that needs no server: for trying things out, not for answers.'),
    endpoints: z.array(endpoint).default([]).describe('Servers whose models are offered as llm.chat and embed.text.'),
  })
  .prefault({})

export type ModelsConfig = z.output<typeof modelsConfigSchema>
