/** Bus traffic tools: the traffic of a bus and what is watched on it. Offered only where somebody listens. */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { JsonObject } from '../../core/json.ts'
import { busLimitArgument, viewArguments } from './arguments.ts'
import {
  busMessagesSchema,
  busPeriodicitySchema,
  busSpecimensSchema,
  busSummarySchema,
  registerShadowSummarySchema,
} from './bus-traffic-schemas.ts'
import { createEbusOutputSchema, ebusFamilyEnvelope } from './ebus-envelope.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { createViewHandler } from './ebus-tool-context.ts'
import type { EbusView } from './ebus-view.ts'

const common = { effect: 'reads', family: ebusFamilyEnvelope } as const
const listInput = z.strictObject({ limit: busLimitArgument, ...viewArguments })

const summaryTool = defineTool({
  ...common,
  name: 'ebus.v1.bus.summary.get',
  title: 'Read how the bus is doing',
  description:
    'Whether the bus can be heard and how far that is to be relied on, who talks, what went wrong, and what happened to the adapter lately.',
  input: z.strictObject(viewArguments),
  output: createEbusOutputSchema(busSummarySchema),
})

const messagesTool = defineTool({
  ...common,
  name: 'ebus.v1.bus.messages.list',
  title: 'List recent telegrams',
  description:
    'The newest telegrams on the bus, oldest of them first: who, to whom, what service, how it ended, and what it says where that is known. All that are kept, up to 1024, which is long: `limit` gives this many of the newest.',
  input: z.strictObject({
    ...listInput.shape,
    payload: z.boolean().default(false).describe('The bytes of every telegram, not only of unknown ones.'),
  }),
  output: createEbusOutputSchema(busMessagesSchema),
})

const periodicityTool = defineTool({
  ...common,
  name: 'ebus.v1.bus.periodicity.list',
  title: 'List how often telegrams come',
  description:
    'For every kind of telegram that others send: when it was last seen and at which intervals. All that are kept, up to 256 kinds; `limit` gives this many of the newest.',
  input: listInput,
  output: createEbusOutputSchema(busPeriodicitySchema),
})

const specimensTool = defineTool({
  ...common,
  name: 'ebus.v1.bus.protocol_specimens.list',
  title: 'List telegrams that are not understood',
  description:
    'What others say on the bus and no table explains: one per question, with its bytes, how often it came and its newest answer; newest first.',
  input: z.strictObject({
    ...listInput.shape,
    family: z.string().trim().toUpperCase().max(16).exactOptional().describe('Only this service, such as B512.'),
  }),
  output: createEbusOutputSchema(busSpecimensSchema),
})

const watchTool = defineTool({
  ...common,
  name: 'ebus.v1.watch.summary.get',
  title: 'Read what is being watched',
  description: 'How many values are kept, why, how fresh they have to be, and whether that still fits.',
  input: z.strictObject(viewArguments),
  output: createEbusOutputSchema(registerShadowSummarySchema),
})

export function createBusTrafficTools(context: EbusToolContext): readonly Capability[] {
  return [
    summaryTool.handledBy(createViewHandler(context, (view) => view.summary())),
    messagesTool.handledBy(
      createViewHandler(context, (view, { limit, payload }) => listBusMessages(view, { limit, payload })),
    ),
    periodicityTool.handledBy(
      createViewHandler(context, (view, { limit }) =>
        list(view.status(), view.periodicity(), view.capacity.periodicity, limit),
      ),
    ),
    specimensTool.handledBy(
      createViewHandler(context, (view, { limit, family }) => {
        // Newest first, unlike the two lists of the freeze, so `limit` cuts at the other end.
        const items = view.specimens().filter((specimen) => family === undefined || specimen['family'] === family)
        return { count: items.length, items: items.slice(0, limit) }
      }),
    ),
  ]
}

/** Only where overheard values are used at all; otherwise there is nothing to watch. */
export function createShadowSummaryTools(context: EbusToolContext): readonly Capability[] {
  return [watchTool.handledBy(createViewHandler(context, (view) => view.watch()))]
}

/** Also behind the resource: both leave bytes out unless they are asked for or are all there is. */
export function listBusMessages(
  view: EbusView,
  { limit, payload }: { readonly limit: number | undefined; readonly payload: boolean },
): JsonObject {
  const { items, ...rest } = list(view.status(), view.messages(), view.capacity.messages, limit)
  return { ...rest, items: payload ? items : items.map(withoutKnownBytes) }
}

/** `count` is that of the store, whatever part of it is shown. */
function list(
  status: JsonObject,
  items: readonly JsonObject[],
  capacity: number,
  limit: number | undefined,
): JsonObject & { readonly items: readonly JsonObject[] } {
  // Spec 1: the newest `limit`, or all, in the order in which they are kept.
  return { status, count: items.length, capacity, items: limit === undefined ? items : items.slice(-limit) }
}

/** Bytes are for what has no other meaning yet; of the rest they would only be the same said twice. */
function withoutKnownBytes(message: JsonObject): JsonObject {
  if (message['known'] !== true) return message
  const { request_hex: _request, response_hex: _response, ...rest } = message
  return rest
}
