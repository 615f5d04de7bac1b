/**
 * API requests: the shapes of requests from the people's programs (CLI, console) to the gateway. One definition for
 * both ends.
 */
import { z } from 'zod'
import { PRINCIPAL_ROLES } from '../bus/call.ts'
import { EFFECTS } from '../bus/capability.ts'
import type { AccessTokenRequest } from '../guard/access-token.ts'

/** Defined separately, so that a page can import them without the request schemas. */
export type { CallResultView, StatusView, ToolView } from './views.ts'

const workIdSchema = z
  .string()
  .min(1)
  .max(128)
  .refine((text) => text.isWellFormed(), 'must be Unicode text')

export const callRequestBodySchema = z.strictObject({
  tool: z.string().min(1).max(256),
  arguments: z.record(z.string(), z.json()).default({}),
  session: z.string().min(1).max(256).optional(),
  /** What the call is for, as its caller says. Only recorded. */
  task_id: workIdSchema.optional(),
  session_id: workIdSchema.optional(),
  node: z.string().min(1).max(256).optional(),
  timeoutMs: z.int().min(1).max(600_000).optional(),
})

/** Approves one call and, with a grant, further calls within bounds. */
export const approveRequestSchema = z.strictObject({
  grant: z
    .strictObject({
      caller: z.enum(['same', 'node']).default('same'),
      target: z.enum(['same', 'any']).default('same'),
      bounds: z
        .record(z.string(), z.strictObject({ min: z.number().exactOptional(), max: z.number().exactOptional() }))
        .default({}),
      free: z.array(z.string()).default([]),
      maxUses: z.int().min(1).max(10_000),
      durationMs: z
        .int()
        .min(1_000)
        .max(30 * 86_400_000),
    })
    .optional(),
})

export const denyRequestSchema = z.strictObject({ reason: z.string().min(1).max(1_000) })

export const tokenRequestSchema = z.strictObject({
  name: z.string().min(1).max(64),
  role: z.enum(PRINCIPAL_ROLES),
  expiresInDays: z.int().min(1).max(3_650).optional(),
  effects: z.array(z.enum(EFFECTS)).optional(),
  profiles: z.array(z.string()).optional(),
  devices: z.array(z.string()).optional(),
})

const DAY_MS = 86_400_000

/** The requested token in the guard's terms. */
export function toAccessTokenRequest(input: z.output<typeof tokenRequestSchema>): AccessTokenRequest {
  const { name, role, expiresInDays, effects, profiles, devices } = input
  const narrowed = effects !== undefined || profiles !== undefined || devices !== undefined
  const restrictions = { ...(effects && { effects }), ...(profiles && { profiles }), ...(devices && { devices }) }
  return {
    name,
    role,
    ...(narrowed ? { restrictions } : {}),
    ...(expiresInDays === undefined ? {} : { ttlMs: expiresInDays * DAY_MS }),
  }
}

/** One of the two: the code of a one-time link, or a token. */
export const signInRequestSchema = z
  .strictObject({ code: z.string().min(1).max(128).optional(), token: z.string().min(1).max(128).optional() })
  .refine(({ code, token }) => (code === undefined) !== (token === undefined), 'a code or a token, not both')

export const signInLinkCreationSchema = z.strictObject({
  role: z.enum(PRINCIPAL_ROLES).default('admin'),
})

export const emergencyStopRequestSchema = z.strictObject({ reason: z.string().min(1).max(1_000) })

/** The gateway writes the files, so the folder is an absolute path on its machine. */
export const ledgerExportRequestSchema = z.strictObject({
  folder: z.string().regex(/^\//, 'an absolute path').max(4_096),
  /** Includes the bodies that the entries commit to. */
  with_bodies: z.boolean().default(false),
})

/** Which bodies are erased, and why; the reason is kept for good. */
export const bodyErasureRequestSchema = z.strictObject({
  entries: z.array(z.int().min(0).max(Number.MAX_SAFE_INTEGER)).min(1).max(100),
  reason: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .refine((text) => text.isWellFormed(), 'must be Unicode text'),
})

/** The result for each entry, in the given order. */
export interface ErasureResultView {
  readonly erased: readonly {
    readonly entry: number
    /** The entry that records the erasure. */
    readonly recorded: number
    /** Rows that showed the text as well. */
    readonly blanked: readonly { readonly what: string; readonly id: string }[]
  }[]
  /** Entries whose bodies still contain one of the texts; they can be erased as well. */
  readonly also: readonly number[]
  /** Entries that contain one themselves, where it stays for good. */
  readonly stays: readonly number[]
  /** Tables beside the log that contain one. */
  readonly tables: readonly string[]
  /** Entries whose stored body was not the one that they commit to, so that it could not be searched. */
  readonly altered: readonly number[]
  /** Why it ended there. */
  readonly refused: string | null
}
