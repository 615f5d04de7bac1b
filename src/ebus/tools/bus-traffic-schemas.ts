/**
 * Bus traffic schemas: traffic and watch summary as clients see them (spec 1's freeze, and what stands beside it).
 */
import { z } from 'zod'
import { INCIDENT_KINDS } from '../observe/incident.ts'
import {
  TELEGRAM_ERROR_CLASSES,
  VAILLANT_COMMAND_FAMILIES,
  FRAME_TYPES,
  TRAFFIC_OUTCOMES,
} from '../observe/observation.ts'

const count = z.int().min(0)
const scope = z.enum(['active', 'passive'])
/** `passive`: overheard. Whether that works decides what the bus tools may be believed. */
const passiveState = z.enum(['unavailable', 'warming_up', 'available'])
/** Spec 1: nothing exact is claimed, since an adapter hands bytes over when it likes. */
const quality = z.enum(['estimated', 'unavailable'])

/** Spec 1: stays explicit in all three tools, so that nobody takes retained history for a healthy path. */
const status = z.object({
  last_updated_at: z.string().exactOptional(),
  transport_class: z.string(),
  // How often planes are polled at most: how old a value may be that nobody is heard to say.
  publisher_cadence_sec: z.number(),
  publisher_cadence_source: z.string(),
  capability: z.object({
    active_supported: z.boolean(),
    passive_supported: z.boolean(),
    broadcast_supported: z.boolean(),
    passive_available: z.boolean(),
    passive_state: passiveState,
    // Only where `passive_state` is unavailable.
    passive_reason: z
      .enum([
        'startup_timeout',
        'reconnect_timeout',
        'socket_loss',
        'flap_dampened',
        'unsupported_or_misconfigured',
        'capability_withdrawn',
      ])
      .exactOptional(),
    endpoint_state: z.enum([
      'unknown',
      'connected',
      'temporarily_disconnected',
      'unsupported_or_misconfigured',
      'closed',
    ]),
    tap_connected: z.boolean(),
  }),
  warmup: z.object({
    state: passiveState,
    // What is waited for, the most important first; absent once the path is available.
    blocker: z
      .enum([
        'post_reset_settling',
        'completed_transactions',
        'healthy_symbol_ingress',
        'connected_observation_window',
        'startup_outer_window',
      ])
      .exactOptional(),
    elapsed_seconds: count.exactOptional(),
    completed_transactions: count,
    required_transactions: count,
    completion_mode: z.enum(['thresholds_met', 'fallback_path']).exactOptional(),
  }),
  timing_quality: z.object({ active: quality, passive: quality, busy: quality, periodicity: quality }),
  degraded: z.object({ active: z.boolean(), reasons: z.array(z.string()) }),
  startup: z.object({
    phase: z.enum(['BOOT_INIT', 'CACHE_LOADED_STALE', 'LIVE_WARMUP', 'LIVE_READY', 'DEGRADED']),
    cache_epoch: count,
    live_epoch: count,
  }),
  feature_flags: z.object({
    observe_first_enabled: z.boolean(),
    passive_state_direct_apply: z.boolean(),
    passive_config_direct_apply: z.boolean(),
    external_write_policy: z.enum(['record_only', 'invalidate_only', 'record_and_invalidate']),
  }),
})

/** Of the whole store, not of the part that is shown. */
const bounded = z.object({ count, capacity: count })

/** What the contract freezes comes first; from `frames` on it is what helps to find out what is wrong. */
export const busSummarySchema = z.object({
  last_updated_at: z.string().exactOptional(),
  status,
  messages: bounded,
  periodicity: bounded,
  counters: z.object({ series_budget_overflow_total: count, periodicity_budget_overflow_total: count }),
  frames: z
    .array(
      z.object({
        scope,
        family: z.enum(VAILLANT_COMMAND_FAMILIES),
        frame_type: z.enum(FRAME_TYPES),
        source: z.string().exactOptional(),
        target: z.string().exactOptional(),
        count,
      }),
    )
    .describe('Who talks to whom, the busiest first.'),
  errors: z.array(z.object({ scope, class: z.enum(TELEGRAM_ERROR_CLASSES), phase: z.string(), count })),
  repeats: z.object({ commands: count, responses: count }).describe('Parts that had to be sent twice.'),
  // Absent where nothing was measured: spec 1 freezes no busy ratio, and no zero is made up for one.
  reconstructor: z
    .object({ recoveries: z.array(z.object({ reason: z.enum(TRAFFIC_OUTCOMES), count })) })
    .describe('Telegrams that broke off, by why; contests and scans that find nobody are among them.'),
  busy: z
    .object({ total_seconds: z.number(), windows: z.array(z.object({ window: z.string(), ratio: z.number() })) })
    .exactOptional()
    .describe('Estimated from the number of symbols; only windows that were listened to throughout.'),
  symbols: z
    .object({ total: count, per_second: z.number(), max_per_second: z.number(), window_seconds: count })
    .exactOptional()
    .describe(
      'Symbols on the wire over the last seconds; 240 a second is a full wire. Left out until it was measured.',
    ),
  incidents: z.object({
    counts: z.record(z.string(), count),
    recent: z.array(z.object({ at: z.string(), kind: z.enum(INCIDENT_KINDS), detail: z.string(), times: count })),
  }),
})

const bytes = z.string().exactOptional()

/** What a telegram says, where a table explains it. */
const decoded = z.object({
  name: z.string().describe('Such as zone.room_temperature.'),
  act: z.enum(['read', 'write', 'broadcast']),
  instance: z.int().exactOptional().describe('Which zone, circuit or slot, from 0.'),
  fields: z.array(
    z.object({
      name: z.string(),
      value: z.union([z.number(), z.string(), z.boolean(), z.null()]).describe('Null: the device has no value.'),
      unit: z.string().exactOptional(),
    }),
  ),
})

/** Addresses and services are left out of fragments that broke off before them. */
export const busMessagesSchema = z.object({
  status,
  ...bounded.shape,
  items: z.array(
    z.object({
      scope,
      family: z.enum(VAILLANT_COMMAND_FAMILIES),
      frame_type: z.enum(FRAME_TYPES),
      outcome: z.enum(TRAFFIC_OUTCOMES),
      observed_at: z.string(),
      source_address: z.int().exactOptional(),
      target_address: z.int().exactOptional(),
      primary: z.int().exactOptional(),
      secondary: z.int().exactOptional(),
      request_len: count,
      response_len: count,
      known: z.boolean().exactOptional().describe('Whether its meaning is known; left out of fragments.'),
      decoded: decoded.exactOptional(),
      request_hex: bytes.describe('QQ ZZ PB SB NN DD…, without checksum; of what is not known, or with `payload`.'),
      response_hex: bytes.describe('NN DD…, likewise.'),
    }),
  ),
})

/** Not of the freeze: one telegram per question, so that somebody can find out what it means. */
export const busSpecimensSchema = z.object({
  count,
  items: z.array(
    z.object({
      family: z.string(),
      source: z.int().exactOptional(),
      target: z.int().exactOptional(),
      frame_type: z.enum(FRAME_TYPES),
      outcome: z.enum(TRAFFIC_OUTCOMES),
      request_hex: z.string(),
      response_hex: bytes,
      request_len: count,
      response_len: count,
      first_seen_at: z.string(),
      last_seen_at: z.string(),
      count,
    }),
  ),
})

/** Left out until there is one: two sightings make one interval. */
const interval = z.string().exactOptional().describe('Such as 30s, 1m30.5s, 250ms.')

export const busPeriodicitySchema = z.object({
  status,
  ...bounded.shape,
  items: z.array(
    z.object({
      source_bucket: z.string(),
      target_bucket: z.string(),
      primary: z.int(),
      secondary: z.int(),
      family: z.enum(VAILLANT_COMMAND_FAMILIES),
      state: z.enum(['warming_up', 'available']),
      last_seen: z.string(),
      sample_count: count,
      last_interval: interval,
      mean_interval: interval,
      min_interval: interval,
      max_interval: interval,
      median_interval: interval.describe('Of the newest fifteen intervals.'),
      jitter: interval.describe('How far these lie from their median on average.'),
    }),
  ),
})

/** In a fixed order, those with nothing in them included. */
const classes = z.array(z.object({ class: z.string(), count }))

/** DOC-09's payload: counts only, by class; which values they are is for the plane tools. */
export const registerShadowSummarySchema = z.object({
  last_updated_at: z.string().exactOptional(),
  inventory: z.object({
    total_entries: count,
    pinned_entries: count,
    evictable_entries: count,
    static_pinned_footprint: count,
    write_confirm_pinned_active: count,
    state_classes: classes,
    pin_classes: classes,
  }),
  activation_counts: z.object({ catalog_descriptors: count, active_keys: count, source_classes: classes }),
  freshness_classes: classes,
  direct_apply_eligibility_classes: classes,
  degraded: z.object({
    active: z.boolean(),
    shadowing_enabled: z.boolean(),
    pinned_budget_degraded: z.boolean(),
    compactor_degraded: z.boolean(),
    reasons: z.array(z.string()),
  }),
})
