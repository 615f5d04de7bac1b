/**
 * Access points section: voice backends that this node opens a connection to, so that their assistants can use its
 * tools.
 */
import { z } from 'zod'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'

const accessPoint = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'lower-case letters, digits and dashes')
    .describe('What it is called; calls are made as `access-point:<name>`.'),
  // A token belongs in the environment, because this file is copied, shown and backed up.
  url: z
    .string()
    .regex(/^wss?:\/\/[^\s]+$/, 'a WebSocket address, wss://… or ws://…')
    .describe('The address that the backend gives out; `${NAME}` stands for an environment variable.'),
  profile: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'the name of a profile')
    .default('voice')
    .describe('Which tools the assistant behind it is offered.'),
})

export const accessPointsConfigSchema = z
  .array(accessPoint)
  .max(16)
  .refine((points) => new Set(points.map(({ name }) => name)).size === points.length, 'each name may be used only once')
  .default([])
  .describe('MCP access points of voice backends: the device keeps its voice, and its assistant gets tools here.')

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** The text with every `${NAME}` replaced, percent-encoded: a token may hold characters that mean something in a URL. */
export function expandUrlVariables(
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): Result<string, { readonly missing: string }> {
  const missing = [...text.matchAll(VARIABLE)].map(([, name = '']) => name).find((name) => !environment[name])
  if (missing !== undefined) return fail({ missing })
  return ok(text.replaceAll(VARIABLE, (_, name: string) => encodeURIComponent(environment[name] ?? '')))
}
