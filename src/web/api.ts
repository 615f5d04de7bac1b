/**
 * API: the shapes that travel between the gateway and the people's programs (CLI, console). One definition, both ends.
 *
 * Pure.
 */
import { z } from 'zod'
import type { Json, JsonObject } from '../core/json.ts'
import type { NewToken } from '../guard/token.ts'

export interface StatusView {
  readonly node: string
  readonly version: string
  readonly mode: 'full' | 'readonly'
  readonly stopped: boolean
  readonly startedAt: string
  readonly url: string
  readonly tools: number
  readonly ledger: {
    readonly size: number
    readonly root: string
    readonly state: string
    readonly checkpointSize: number | null
  }
  readonly pendingApprovals: number
  readonly services: readonly {
    readonly name: string
    readonly status: 'ok' | 'degraded' | 'failing'
    readonly details: JsonObject
  }[]
}

export interface ToolView {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly effect: string
  readonly family: string
  readonly version: string
  readonly timeoutSeconds: number
  readonly idempotent: boolean
  /** Which instance it is, such as the device behind it. */
  readonly params: JsonObject
  readonly profiles: readonly string[]
  readonly inputSchema: JsonObject
}

export const callRequest = z.strictObject({
  tool: z.string().min(1).max(256),
  arguments: z.record(z.string(), z.json()).default({}),
  session: z.string().min(1).max(256).optional(),
  node: z.string().min(1).max(256).optional(),
  timeoutMs: z.int().min(1).max(600_000).optional(),
})

/** What a call came to, in the words of the tool's family. */
export interface CallView {
  readonly outcome: 'ok' | 'error' | 'denied'
  readonly traceId: string
  readonly structured: Json
  readonly content?: Json
  /** What went wrong, in words that all families share. */
  readonly fault?: {
    readonly kind: string
    readonly message: string
    readonly reasons: readonly { readonly rule: string; readonly message: string }[]
    readonly details?: JsonObject
  }
}

/** A yes to the one call, and, with a grant, to more like it within bounds. */
export const approveRequest = z.strictObject({
  grant: z
    .strictObject({
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

export const denyRequest = z.strictObject({ reason: z.string().min(1).max(1_000) })

export const tokenRequest = z.strictObject({
  name: z.string().min(1).max(64),
  role: z.enum(['observer', 'agent', 'approver', 'admin']),
  expiresInDays: z.int().min(1).max(3_650).optional(),
  effects: z.array(z.enum(['reads', 'records', 'writes', 'sensitive', 'admin'])).optional(),
  profiles: z.array(z.string()).optional(),
  devices: z.array(z.string()).optional(),
})

const DAY_MS = 86_400_000

/** The wish for a token in the guard's terms. */
export function newTokenOf(wish: z.output<typeof tokenRequest>): NewToken {
  const { name, role, expiresInDays, effects, profiles, devices } = wish
  const narrowed = effects !== undefined || profiles !== undefined || devices !== undefined
  const restrictions = { ...(effects && { effects }), ...(profiles && { profiles }), ...(devices && { devices }) }
  return {
    name,
    role,
    ...(narrowed ? { restrictions } : {}),
    ...(expiresInDays === undefined ? {} : { ttlMs: expiresInDays * DAY_MS }),
  }
}

/** One of the two: the code of a one-time link, or a token of one's own. */
export const signInRequest = z
  .strictObject({ code: z.string().min(1).max(128).optional(), token: z.string().min(1).max(128).optional() })
  .refine(({ code, token }) => (code === undefined) !== (token === undefined), 'a code or a token, not both')

export const linkRequest = z.strictObject({
  role: z.enum(['observer', 'agent', 'approver', 'admin']).default('admin'),
})

export const stopRequest = z.strictObject({ reason: z.string().min(1).max(1_000) })

/** The gateway writes the files, so the folder is one of its machine's, named in full. */
export const exportRequest = z.strictObject({ folder: z.string().regex(/^\//, 'an absolute path').max(4_096) })
