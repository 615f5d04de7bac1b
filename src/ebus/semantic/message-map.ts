/**
 * Message map: which message of which manufacturer's definition files has which value of which plane. It is data: a
 * further manufacturer is a further line. Names of makers, circuits, messages and fields are those of ebusd's official
 * files.
 */
import type { HeatingPlaneName } from './planes.ts'

export interface MappedFieldSource {
  /** The folder of the definition files; `undefined` for those without a manufacturer. */
  readonly maker: string | undefined
  readonly circuit: string
  readonly message: string
  readonly field: string
  /** The factor from the message's number to the unit of the value. */
  readonly factor?: number
  /** Another field of the same message that is added with its own factor. */
  readonly plus?: { readonly field: string; readonly factor: number }
  /** For a value in words: true for these words. */
  readonly isTrueFor?: RegExp
}

export interface MappedPlaneField {
  readonly plane: HeatingPlaneName
  /** The item of a plane that is a list; a key of `DEFAULT_PLANE_ITEM_TITLES`. */
  readonly item?: string
  readonly path: string
  readonly as: 'number' | 'flag' | 'text'
  /** The first known source is used. */
  readonly sources: readonly MappedFieldSource[]
}

/** Default names for items of planes that are lists. */
export const DEFAULT_PLANE_ITEM_TITLES: Readonly<Record<string, string>> = {
  'zone-mc': 'Mixed heating circuit',
  'zone-excellent': 'Ventilation',
  'zone-ochsner': 'Heating circuit',
  'circuit-hc': 'hc',
  'circuit-mc': 'mc',
  'circuit-ochsner': 'ochsner',
}

type Finder = (message: string, field?: string, rest?: Partial<MappedFieldSource>) => MappedFieldSource

const source =
  (maker: string | undefined, circuit: string, usual: string): Finder =>
  (message, field = usual, rest = {}) => ({ maker, circuit, message, field, ...rest })

const wolf = source('wolf', 'hc', 'value')
const wolfMixer = source('wolf', 'mc', 'value')
const kromschroeder = source('kromschroeder', 'hc', 'value')
const kromschroederMixer = source('kromschroeder', 'mc', 'value')
const encon = source('encon', 'excellent', 'value')
const tem = source('tem', '15', 'temp')
const ochsner = source('ochsner', '22102', 'temp')
const hmu = source('vaillant', 'hmu', 'value')
const ehp = source('vaillant', 'ehp', 'value')
const omu = source('vaillant', 'omu', 'value')
const broadcast = source(undefined, 'Broadcast', 'outsidetemp')

/** The burner controllers of both manufacturers use the same messages. */
const burner = (message: string, field?: string, rest?: Partial<MappedFieldSource>): readonly MappedFieldSource[] => [
  wolf(message, field, rest),
  kromschroeder(message, field, rest),
]
const mixer = (message: string, field?: string, rest?: Partial<MappedFieldSource>): readonly MappedFieldSource[] => [
  wolfMixer(message, field, rest),
  kromschroederMixer(message, field, rest),
]

const number = (plane: HeatingPlaneName, path: string, ...sources: readonly MappedFieldSource[]): MappedPlaneField => ({
  plane,
  path,
  as: 'number',
  sources,
})
const flag = (plane: HeatingPlaneName, path: string, ...sources: readonly MappedFieldSource[]): MappedPlaneField => ({
  ...number(plane, path, ...sources),
  as: 'flag',
})
const text = (plane: HeatingPlaneName, path: string, ...sources: readonly MappedFieldSource[]): MappedPlaneField => ({
  ...number(plane, path, ...sources),
  as: 'text',
})
const of = (item: string, field: MappedPlaneField): MappedPlaneField => ({ ...field, item })

const SECONDS_PER_MINUTE = 60
const KILO = 1_000
const DEFROSTS = /defrost|deic|abtau/i

export const MAPPED_PLANE_FIELDS: readonly MappedPlaneField[] = [
  of('zone-mc', number('zones', 'state.current_temp_c', ...mixer('Operation', 'roomtemp'))),
  of('zone-excellent', number('zones', 'state.current_temp_c', encon('InsideTemperature'))),
  of('zone-excellent', number('zones', 'state.current_humidity_pct', encon('RelativeHumidity'))),
  of('zone-ochsner', number('zones', 'state.current_temp_c', ochsner('RoomTemp'))),
  of('zone-ochsner', number('zones', 'state.current_humidity_pct', ochsner('Humidity', 'humidity'))),
  of('zone-ochsner', number('zones', 'state.wanted_now_c', ochsner('DesiredRoomTemp'))),

  number('dhw', 'state.current_temp_c', ...burner('Hwctemp'), ochsner('HwcTemp'), ochsner('WaterTemp')),
  number(
    'dhw',
    'config.target_temp_c',
    ...burner('Hwctempdesired'),
    ...mixer('Operation', 'hwctempdesired'),
    ochsner('DesiredHwcTemp'),
  ),

  of('circuit-hc', number('circuits', 'state.flow_temperature_c', ...burner('Flowtemp'))),
  of('circuit-hc', number('circuits', 'state.flow_setpoint_c', ...burner('Flowtempdesired'))),
  of('circuit-hc', flag('circuits', 'state.pump_active', ...burner('Pump'))),
  of('circuit-hc', number('circuits', 'config.flow_temp_max_c', ...burner('Hg08'))),
  of('circuit-mc', number('circuits', 'state.flow_setpoint_c', ...mixer('Operation', 'hctempdesired'))),
  of('circuit-ochsner', number('circuits', 'state.flow_temperature_c', ochsner('HcFlowTemp'))),
  of('circuit-ochsner', number('circuits', 'state.flow_setpoint_c', ochsner('DesiredFlowTemp'))),

  number('boiler_status', 'state.flow_temperature_c', ...burner('Flowtemp')),
  number('boiler_status', 'state.return_temperature_c', ...burner('Returntemp')),
  number(
    'boiler_status',
    'state.flow_temp_desired_c',
    ...burner('Flowtempdesired'),
    ...burner('Operation', 'desiredtemp'),
  ),
  flag('boiler_status', 'state.central_heating_pump_active', ...burner('Pump')),
  number('boiler_status', 'state.fan_speed_rpm', ...burner('Hg74', 'value', { factor: SECONDS_PER_MINUTE })),
  number('boiler_status', 'state.dhw_temperature_c', ...burner('Hwctemp')),
  number('boiler_status', 'state.dhw_target_temperature_c', ...burner('Hwctempdesired')),
  number('boiler_status', 'config.flowset_hc_max_c', ...burner('Hg08')),
  number('boiler_status', 'diagnostics.burner_hours', ...burner('Hg90')),
  number('boiler_status', 'diagnostics.burner_starts', ...burner('Hg91')),

  number(
    'system',
    'state.outdoor_temperature',
    ...burner('RcTarget', 'outsidetemp'),
    encon('OutsideTemperature'),
    tem('At'),
    ochsner('OutsideTemp'),
    broadcast('Datetime'),
    broadcast('RcTarget'),
  ),
  number('system', 'state.outdoor_temperature_avg24h', ochsner('HcOutsideTempAvg')),
  number('system', 'state.hwc_cylinder_temperature_top', ochsner('StoreTempTop')),
  number('system', 'state.hwc_cylinder_temperature_bottom', ochsner('StoreTempBottom')),

  number('solar', 'collector_temperature_c', ...mixer('Status', 'collectortemp')),
  flag('solar', 'pump_active', ...mixer('Status', 'pump', { isTrueFor: /^on$/i })),
  number('solar', 'current_yield', ...mixer('Yields', 'power')),

  number('energy_totals', 'solar.total.today', ...mixer('Yields', 'yieldday')),
  number(
    'energy_totals',
    'solar.total.all_time',
    ...mixer('Yields', 'yieldsum', { plus: { field: 'yieldm', factor: KILO } }),
  ),
  text(
    'heat_pump',
    'state.activity',
    hmu('RunDataStatuscode'),
    ehp('CompState'),
    ochsner('HpStatus', 'status'),
    tem('Status', 'status'),
  ),
  number('heat_pump', 'state.compressor_speed_rps', hmu('RunDataCompressorSpeed')),
  number('heat_pump', 'state.compressor_utilisation_pct', hmu('CurrentCompressorUtil')),
  number(
    'heat_pump',
    'state.source_inlet_temperature_c',
    hmu('RunDataAirInletTemp'),
    hmu('AirIntakeTemp'),
    ehp('SourceTempInput', 'temp'),
    ochsner('HpSourceTempIn'),
    tem('Wq_temp_in'),
  ),
  number(
    'heat_pump',
    'state.source_outlet_temperature_c',
    hmu('SourceTempOutput'),
    ehp('SourceTempOutput', 'temp'),
    ochsner('HpSourceTempOut'),
    tem('Wq_temp_out'),
  ),
  number(
    'heat_pump',
    'state.flow_temperature_c',
    hmu('RunDataFlowTemp'),
    hmu('FlowTemp'),
    ehp('FlowTemp', 'temp'),
    ochsner('HpFlowTemp'),
    tem('Vl_temp_ist'),
  ),
  number(
    'heat_pump',
    'state.return_temperature_c',
    hmu('RunDataReturnTemp'),
    ehp('HcReturnTemp', 'temp'),
    ochsner('HpReturnTemp'),
    tem('Rl_temp_ist'),
  ),
  number('heat_pump', 'state.flow_target_c', hmu('TargetFlowTemp'), ochsner('DesiredHpFlow'), tem('Vl_temp_soll')),
  number('heat_pump', 'state.circuit_flow_lph', hmu('BuildingCircuitFlow')),
  number(
    'heat_pump',
    'state.electric_power_kw',
    hmu('CurrentConsumedPower'),
    hmu('RunDataElectricPowerConsumption', 'value', { factor: 1 / KILO }),
  ),
  number('heat_pump', 'state.environment_power_kw', hmu('CurrentYieldPower'), ehp('ActualEnvironmentPower')),
  flag(
    'heat_pump',
    'state.defrost_active',
    ehp('DeicingActive'),
    omu('DeicingActive'),
    hmu('RunDataStatuscode', 'value', { isTrueFor: DEFROSTS }),
    ochsner('HpStatus', 'status', { isTrueFor: DEFROSTS }),
    tem('Status', 'status', { isTrueFor: DEFROSTS }),
  ),
  text('heat_pump', 'state.backup_heater', hmu('ImmersionHeaterMode', 'onoff'), ehp('Backup')),
  number('heat_pump', 'energy.electricity.all_time', hmu('ConsumptionTotal')),
  number(
    'heat_pump',
    'energy.environment_yield.all_time',
    hmu('YieldTotal'),
    ehp('YieldTotal'),
    ochsner('HpHeatMwh', 'mwh', { factor: KILO }),
  ),
  number('heat_pump', 'energy.environment_yield.heating.today', hmu('YieldHcDay')),
  number('heat_pump', 'energy.environment_yield.heating.this_month', hmu('YieldHcMonth')),
  number('heat_pump', 'energy.environment_yield.heating.all_time', hmu('YieldHc')),
  number('heat_pump', 'energy.environment_yield.hot_water.today', hmu('YieldHwcDay')),
  number('heat_pump', 'energy.environment_yield.hot_water.this_month', hmu('YieldHwcMonth')),
  number('heat_pump', 'energy.environment_yield.hot_water.all_time', hmu('YieldHwc')),
  number('heat_pump', 'energy.environment_yield.cooling.today', hmu('YieldCoolDay')),
  number('heat_pump', 'cop.heating.this_month', hmu('CopHcMonth')),
  number('heat_pump', 'cop.heating.all_time', hmu('CopHc')),
  number('heat_pump', 'cop.hot_water.this_month', hmu('CopHwcMonth')),
  number('heat_pump', 'cop.hot_water.all_time', hmu('CopHwc')),
  number(
    'heat_pump',
    'diagnostics.compressor_hours',
    hmu('CompressorHours'),
    hmu('RunStatsCompressorHours'),
    ehp('CompHours'),
    ochsner('HpHours', 'hours'),
    tem('Bs_1', 'hours'),
  ),
  number(
    'heat_pump',
    'diagnostics.compressor_starts',
    hmu('CompressorStarts'),
    hmu('RunStatsCompressorStarts'),
    ehp('CompStarts'),
    ochsner('HpCycles', 'cycles'),
  ),
  number('heat_pump', 'diagnostics.backup_heater_hours', ehp('BackupHours')),
]
