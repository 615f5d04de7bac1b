/** Content tools: what the suite calls to see every kind of content, log and progress. */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Capability } from '../../src/bus/capability.ts'
import { fail } from '../../src/core/result.ts'
import { plainOffer } from '../plain-offer.ts'
import { conformanceFamily, content, fixture, PNG, spoken, text, WAV } from './fixture.ts'

const PAUSE_MS = 50
const image = { type: 'image', data: PNG, mimeType: 'image/png' }

const mixed = {
  uri: 'test://mixed-content-resource',
  mimeType: 'application/json',
  text: JSON.stringify({ test: 'data', value: 123 }),
}
const embedded = {
  uri: 'test://embedded-resource',
  mimeType: 'text/plain',
  text: 'This is an embedded resource content.',
}

export const contentTools: readonly Capability[] = [
  fixture('test_simple_text', () => text('This is a simple text response for testing.')),
  fixture('test_image_content', () => content(image)),
  fixture('test_audio_content', () => content({ type: 'audio', data: WAV, mimeType: 'audio/wav' })),
  fixture('test_embedded_resource', () => content({ type: 'resource', resource: embedded })),
  fixture('test_multiple_content_types', () =>
    content({ type: 'text', text: 'Multiple content types test:' }, image, { type: 'resource', resource: mixed }),
  ),
  fixture('test_error_handling', () =>
    fail({ kind: 'failed', message: 'This tool intentionally returns an error for testing' }),
  ),
  fixture('test_tool_with_logging', async ({ interaction }) => {
    interaction?.log?.('info', 'Tool execution started')
    await pause(PAUSE_MS)
    interaction?.log?.('info', 'Tool processing data')
    await pause(PAUSE_MS)
    interaction?.log?.('info', 'Tool execution completed')
    return text('Tool with logging executed successfully')
  }),
  fixture('test_logging_tool', ({ interaction }) => {
    interaction?.log?.('info', 'This must not be heard without a log level')
    return text('Logged')
  }),
  fixture('test_tool_with_progress', async ({ interaction }) => {
    for (const progress of [0, 50, 100]) {
      interaction?.progress?.(progress, 100)
      await pause(PAUSE_MS)
    }
    return text('Tool with progress executed successfully')
  }),
  fixture('test_reconnection', () => text('Nothing was lost')),
  fixture('test_x_mcp_header', ({ body }) => text(`Region: ${spoken(body['region'])}`), {
    input: z.strictObject({ region: z.string().meta({ 'x-mcp-header': 'Region' }) }),
  }),
]

/** SEP-1613 and SEP-2106: the keywords must reach the client as they were written. */
const requestSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema; nobody awaits a schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

const schemaOffer = plainOffer({
  name: 'json_schema_2020_12_tool',
  title: 'JSON Schema 2020-12',
  description: 'Tool with JSON Schema 2020-12 features',
  requestSchema,
  family: conformanceFamily,
})

export const schemaTool: Capability = { offer: schemaOffer, handle: async () => text('Accepted') }
