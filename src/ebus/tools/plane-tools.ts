/**
 * Plane tools: one tool per semantic plane.
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import { fail, ok } from '../../core/result.ts'
import type { SemanticPlaneName } from '../semantic/planes.ts'
import { includeFieldFreshnessArgument, viewArguments } from './arguments.ts'
import { createEbusOutputSchema, ebusFamilyEnvelope } from './ebus-envelope.ts'
import { createBusUnreachableFault } from './faults.ts'
import type { EbusToolContext, EbusViewRequest } from './ebus-tool-context.ts'
import { toPlaneFreshnessJson, resolveEbusView } from './ebus-tool-context.ts'
import { readMissingPlaneValues } from './missing-plane-values.ts'
import { PLANE_SCHEMAS } from './plane-schemas.ts'

/** One row per tool; the tools differ only in the plane. */
interface PlaneTool {
  /** `ebus.v1.semantic.PLANE.get` by default. */
  readonly name?: string
  readonly plane: SemanticPlaneName
  readonly title: string
  readonly description: string
}

const ADAPTER_INFO = {
  plane: 'adapter_info',
  title: 'Read what the adapter says about itself',
  description:
    'Firmware, hardware, jumpers, temperature, supply and bus voltage, restarts and reception of the eBUS adapter. Null for an adapter that tells nothing, and behind ebusd.',
} as const

export const SEMANTIC_PLANE_TOOL_DEFINITIONS: readonly PlaneTool[] = [
  {
    name: 'ebus.v1.runtime.status.get',
    plane: 'runtime_status',
    title: 'Read whether gateway and adapter are well',
    description:
      'Whether the adapter is connected and the bus has a signal, and which address this gateway uses on it.',
  },
  { ...ADAPTER_INFO, name: 'ebus.v1.adapter_info.get' },
  // The name under which another gateway with the same contract offers it.
  ADAPTER_INFO,
  {
    plane: 'zones',
    title: 'Read the heating zones',
    description:
      'Every zone with its room temperature and humidity, what it does now, its mode, preset and target, quick veto and holiday. Null until the regulator has been read once. `state.wanted_now_c` is how warm each shall be now, and `wanted_because` why. To change a setpoint or mode: settings.set.',
  },
  {
    plane: 'dhw',
    title: 'Read the hot water',
    description:
      'Hot water temperature now and wanted, mode, preset and holiday. Null when nobody has read it for 15 minutes. To change it: settings.set.',
  },
  {
    plane: 'energy_totals',
    title: 'Read the energy meters',
    description:
      'Gas and electricity for heating (climate) and hot water in kWh: today, last and this month, this year and all time. A figure nobody knows is null.',
  },
  {
    plane: 'boiler_status',
    title: 'Read the boiler',
    description:
      'Flow and return temperature, pressure, flame, modulation, pumps and fan of the boiler, its limits, hours and starts. Null without a boiler that is known.',
  },
  {
    plane: 'system',
    title: 'Read the heating system as a whole',
    description:
      'Outside temperature, water pressure, cylinder temperatures, maintenance, and settings of the whole system.',
  },
  {
    plane: 'circuits',
    title: 'Read the heating circuits',
    description:
      'Every circuit with pump, mixer, flow temperatures, heating curve and limits, and which device manages it (`managing_device`, named only where that is certain).',
  },
  {
    plane: 'radio_devices',
    title: 'Read what is paired with the regulator',
    description:
      'Thermostats, base stations and modules in the slots of the regulator, with reception, firmware and room values.',
  },
  {
    plane: 'fm5_mode',
    title: 'Read whether a function module is interpreted',
    description: 'INTERPRETED, GPIO_ONLY (there, but nobody can tell what hangs on it) or ABSENT.',
  },
  {
    plane: 'solar',
    title: 'Read the solar heating',
    description:
      'Collector and return temperature, pump and yield. Empty without a function module that is interpreted.',
  },
  {
    plane: 'cylinders',
    title: 'Read the cylinders',
    description: 'Cylinders behind a function module, with temperature and limits.',
  },
  {
    plane: 'heat_pump',
    title: 'Read the heat pump',
    description:
      'What the heat pump does, its compressor, source and flow temperatures, power taken and yielded, energy and COP by period, hours and starts. Null without a heat pump that is known.',
  },
  {
    plane: 'schedules',
    title: 'Read the weekly programs',
    description:
      'The weekly programs of zones, hot water and circulation, day by day. To change days: settings.set, or schedules.set_zone_time_program and schedules.set_dhw_time_program for one.',
  },
]

/**
 * Returns the known values with their ages. Values that were never read are read now, within the deadline of the call.
 */
export function createPlaneTools(context: EbusToolContext): readonly Capability[] {
  return SEMANTIC_PLANE_TOOL_DEFINITIONS.map(({ plane, name = `ebus.v1.semantic.${plane}.get`, ...words }) =>
    defineTool({
      ...words,
      name,
      input: z.strictObject({ ...viewArguments, detail: includeFieldFreshnessArgument }),
      output: createEbusOutputSchema(PLANE_SCHEMAS[plane]),
      effect: 'reads',
      family: ebusFamilyEnvelope,
    }).handledBy(async ({ detail, ...request }, call) => {
      if (isLive(request)) await readMissingPlaneValues(context, { planes: [plane], bus: request.bus }, call)
      const looked = resolveEbusView(context, request, call)
      if (!looked.ok) return looked
      const { view, answer } = looked.value
      const shown = view.plane(plane)
      const away = shown.data === null ? createBusUnreachableFault(view.reach) : undefined
      if (away !== undefined) return fail(away)
      // Ages are counted from now even for a snapshot, because its values keep ageing.
      return ok({
        data: answer(
          shown.data,
          toPlaneFreshnessJson(shown, context.clock.now(), { eachField: detail, messageName: view.messageName }),
        ),
      })
    }),
  )
}

function isLive({ consistency }: EbusViewRequest): boolean {
  return consistency?.mode !== 'SNAPSHOT'
}
