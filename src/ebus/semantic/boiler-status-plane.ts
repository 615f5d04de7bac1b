/**
 * Boiler status plane: flame, temperatures and load from the boiler's own registers; hot water as the regulator sees
 * it.
 */
import { omitUndefined } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { requireNumberDatatype } from '../wire/datatype-parser.ts'
import type { BoilerRegister } from './boiler-register-map.ts'
import { BOILER_CONFIG_REGISTERS, BOILER_DIAGNOSTIC_REGISTERS, BOILER_STATE_REGISTERS } from './boiler-register-map.ts'
import { decodeCurrentErrorCodes } from './error-code-decoder.ts'
import { formatDhwMode } from './hot-water-plane.ts'
import { PlaneFieldReader, pickNewestReading } from './plane-reader.ts'
import type { SemanticPlane, PlaneSources, FieldValueWithFreshness } from './plane-reader.ts'
import { CURRENT_ERRORS_SELECTOR, ERROR_KIND_SELECTORS, toErrorsReadKey, toStatusReadKey } from './read-key.ts'
import type { DecodedRegisterValue } from './register.ts'
import { CIRCUIT_REGISTERS, HOT_WATER_REGISTERS } from './regulator-register-map.ts'

const HALF_DEGREES = requireNumberDatatype('D1C')
/** The block of B511 with temperatures: flow and return come first. */
const TEMPERATURES = 0x01

export function buildBoilerStatusPlane(parts: PlaneSources): SemanticPlane {
  const reader = new PlaneFieldReader(parts)
  if (parts.topology.boiler === undefined) return reader.plane(null)
  const mode = reader.number('config.dhw_operating_mode', HOT_WATER_REGISTERS.operatingMode)
  return reader.plane({
    state: {
      ...part(reader, 'state', BOILER_STATE_REGISTERS),
      ...temperatures(reader),
      ...omitUndefined({
        dhw_temperature_c: reader.number('state.dhw_temperature_c', HOT_WATER_REGISTERS.current),
        dhw_target_temperature_c: reader.number('state.dhw_target_temperature_c', HOT_WATER_REGISTERS.target),
      }),
    },
    config: {
      ...omitUndefined({ dhw_operating_mode: mode === undefined ? undefined : formatDhwMode(mode) }),
      ...part(reader, 'config', BOILER_CONFIG_REGISTERS),
    },
    diagnostics: {
      ...omitUndefined({
        heating_status_raw: reader.number('diagnostics.heating_status_raw', CIRCUIT_REGISTERS.state),
        dhw_status_raw: reader.number('diagnostics.dhw_status_raw', HOT_WATER_REGISTERS.status),
      }),
      ...part(reader, 'diagnostics', BOILER_DIAGNOSTIC_REGISTERS),
      ...complaints(reader),
    },
  })
}

function part(reader: PlaneFieldReader, name: string, registers: Readonly<Record<string, BoilerRegister>>): JsonObject {
  const fields: Record<string, Json> = {}
  for (const [field, register] of Object.entries(registers)) {
    const value = reader.take(`${name}.${field}`, reader.boilerReading(register))
    if (value !== undefined) fields[field] = value
  }
  return fields
}

/** An empty list is a valid answer: the boiler was asked and has no errors. */
function complaints(reader: PlaneFieldReader): JsonObject {
  const address = reader.topology.boiler?.address ?? 0
  const codes = (field: string, kind: number): Json | undefined => {
    const key = toErrorsReadKey(address, [CURRENT_ERRORS_SELECTOR, kind])
    return reader.take(`diagnostics.${field}`, reader.readingOf(key, 'state_slow', decodeCurrentErrorCodes))?.slice()
  }
  return omitUndefined({
    current_errors: codes('current_errors', ERROR_KIND_SELECTORS.errors),
    current_service_messages: codes('current_service_messages', ERROR_KIND_SELECTORS.service),
  })
}

/** The regulator reads them every few seconds, so its answer is used if it is newer than ours. */
function temperatures(reader: PlaneFieldReader): JsonObject {
  const address = reader.topology.boiler?.address ?? 0
  const observedField = (index: number): FieldValueWithFreshness<DecodedRegisterValue> | undefined =>
    reader.readingOf(toStatusReadKey(address, TEMPERATURES), 'state_fast', (payload) => {
      const decoded = HALF_DEGREES.decode(payload.subarray(index, index + 1))
      return decoded.ok ? decoded.value : undefined
    })
  const take = (
    field: 'flow_temperature_c' | 'return_temperature_c',
    index: number,
  ): DecodedRegisterValue | undefined =>
    reader.take(
      `state.${field}`,
      pickNewestReading(reader.boilerReading(BOILER_STATE_REGISTERS[field]), observedField(index)),
    )
  return omitUndefined({
    flow_temperature_c: take('flow_temperature_c', 0),
    return_temperature_c: take('return_temperature_c', 1),
  })
}
