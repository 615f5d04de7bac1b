/**
 * Shadow summary: what the shadow holds and for whom, in the words of the contract (DOC-09).
 *
 * Classes come in a fixed order, those with nothing in them included: here zero is known.
 */
import type { JsonObject } from '../../core/json.ts'
import type { ObservationFeatureFlags } from '../observe/bus-status.ts'
import { BOILER_REGISTER_COUNT } from './boiler-register-map.ts'
import type { RegisterReadKey } from './read-key.ts'
import type { PlannedRead } from './read-plan.ts'
import type { FreshnessClass } from './register.ts'
import { FRESHNESS_CLASSES } from './register.ts'
import { REGULATOR_REGISTER_COUNT } from './regulator-register-map.ts'
import type { RegisterShadow } from './register-shadow.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'

export interface ShadowSummarySources {
  readonly shadow: RegisterShadow
  readonly plan: readonly PlannedRead[]
  /** Keys that tools have read lately. */
  readonly tooling: ReadonlySet<RegisterReadKey>
  readonly flags: ObservationFeatureFlags
}

const ELIGIBILITY = [
  'state_eligible',
  'state_ineligible',
  'state_master_off',
  'config_eligible',
  'config_ineligible',
  'config_master_off',
  'not_applicable',
] as const
type Eligibility = (typeof ELIGIBILITY)[number]

export function toShadowSummaryJson({ shadow, plan, tooling, flags }: ShadowSummarySources): JsonObject {
  const { evictable, staticPins, confirmPins } = shadow.counts()
  const states = { present: 0, invalidated: 0, tombstone: 0 }
  for (const { state } of shadow.entries()) states[state]++
  const reasons = [
    ...(shadow.compactorDegraded ? ['shadow_compactor_degraded'] : []),
    ...(shadow.pinnedBudgetDegraded ? ['shadow_pinned_budget_degraded'] : []),
  ]
  const { updatedAtMs } = shadow
  return {
    ...(updatedAtMs === undefined ? {} : { last_updated_at: formatIsoTime(updatedAtMs) }),
    inventory: {
      total_entries: shadow.size,
      pinned_entries: shadow.size - evictable,
      evictable_entries: evictable,
      static_pinned_footprint: staticPins,
      write_confirm_pinned_active: confirmPins,
      state_classes: classes(states),
      pin_classes: classes({ static: staticPins, write_confirm: confirmPins, evictable }),
    },
    activation_counts: {
      catalog_descriptors: REGULATOR_REGISTER_COUNT + BOILER_REGISTER_COUNT,
      active_keys: plan.length,
      source_classes: classes({ poller: plan.length, write_confirm: confirmPins, tooling: tooling.size, operator: 0 }),
    },
    freshness_classes: counted(
      FRESHNESS_CLASSES,
      plan.map(({ freshness }) => freshness),
    ),
    direct_apply_eligibility_classes: counted(
      ELIGIBILITY,
      plan.map(({ freshness }) => eligibilityOf(freshness, flags)),
    ),
    degraded: {
      active: reasons.length > 0,
      shadowing_enabled: flags.observe_first_enabled,
      pinned_budget_degraded: shadow.pinnedBudgetDegraded,
      compactor_degraded: shadow.compactorDegraded,
      reasons,
    },
  }
}

function eligibilityOf(freshness: FreshnessClass, flags: ObservationFeatureFlags): Eligibility {
  switch (freshness) {
    case 'state_fast':
    case 'state_slow':
      if (!flags.observe_first_enabled) return 'state_master_off'
      return flags.passive_state_direct_apply ? 'state_eligible' : 'state_ineligible'
    case 'config':
      if (!flags.observe_first_enabled) return 'config_master_off'
      return flags.passive_config_direct_apply ? 'config_eligible' : 'config_ineligible'
    default:
      return 'not_applicable'
  }
}

function classes(counts: Readonly<Record<string, number>>): readonly JsonObject[] {
  return Object.entries(counts).map(([name, count]) => ({ class: name, count }))
}

function counted<Class extends string>(order: readonly Class[], found: readonly Class[]): readonly JsonObject[] {
  const counts = new Map<string, number>()
  for (const name of found) counts.set(name, (counts.get(name) ?? 0) + 1)
  return order.map((name) => ({ class: name, count: counts.get(name) ?? 0 }))
}
