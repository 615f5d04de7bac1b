/**
 * Heat pump messages: which message of which definition says what about a heat pump. Data: another maker is another line.
 *
 * Pure.
 */

export interface MappedSource {
  /** The circuit of the message, as its file names it. */
  readonly circuit: string
  readonly message: string
  /** The field; the first one that holds a number or a name if left out. */
  readonly field?: string
  /** What a number is multiplied with to come to the unit of the value. */
  readonly factor?: number
}

export interface MappedValue {
  readonly group: 'compressor' | 'source' | 'sink' | 'power' | 'energy' | 'cop' | 'defrost' | 'backup_heater'
  readonly name: string
  /** The first that there is counts. */
  readonly sources: readonly MappedSource[]
}

/** Vaillant's HMU (aroTHERM), EHP (geoTHERM) and OMU (its outdoor unit), Ochsner's 22102. */
const hmu = (message: string, rest: Partial<MappedSource> = {}): MappedSource => ({ circuit: 'hmu', message, ...rest })
const ehp = (message: string, rest: Partial<MappedSource> = {}): MappedSource => ({ circuit: 'ehp', message, ...rest })
const omu = (message: string): MappedSource => ({ circuit: 'omu', message })
const ochsner = (message: string, field: string): MappedSource => ({ circuit: '22102', message, field })

const WATTS = { factor: 0.001 }
const MEGAWATT_HOURS = 1_000

export const HEAT_PUMP_MAP: readonly MappedValue[] = [
  {
    group: 'compressor',
    name: 'state',
    sources: [hmu('RunDataStatuscode'), ehp('CompState'), ochsner('HpStatus', 'status')],
  },
  { group: 'compressor', name: 'speed_rps', sources: [hmu('RunDataCompressorSpeed')] },
  { group: 'compressor', name: 'utilisation_pct', sources: [hmu('CurrentCompressorUtil')] },
  {
    group: 'compressor',
    name: 'hours',
    sources: [hmu('CompressorHours'), hmu('RunStatsCompressorHours'), ehp('CompHours'), ochsner('HpHours', 'hours')],
  },
  {
    group: 'compressor',
    name: 'starts',
    sources: [
      hmu('CompressorStarts'),
      hmu('RunStatsCompressorStarts'),
      ehp('CompStarts'),
      ochsner('HpCycles', 'cycles'),
    ],
  },
  {
    group: 'source',
    name: 'inlet_c',
    sources: [
      hmu('RunDataAirInletTemp'),
      hmu('AirIntakeTemp'),
      ehp('SourceTempInput'),
      ochsner('HpSourceTempIn', 'temp'),
    ],
  },
  {
    group: 'source',
    name: 'outlet_c',
    sources: [hmu('SourceTempOutput'), ehp('SourceTempOutput'), ochsner('HpSourceTempOut', 'temp')],
  },
  {
    group: 'sink',
    name: 'flow_c',
    sources: [hmu('RunDataFlowTemp'), hmu('FlowTemp'), ehp('FlowTemp'), ochsner('HpFlowTemp', 'temp')],
  },
  {
    group: 'sink',
    name: 'return_c',
    sources: [hmu('RunDataReturnTemp'), ehp('HcReturnTemp'), ochsner('HpReturnTemp', 'temp')],
  },
  { group: 'sink', name: 'wanted_flow_c', sources: [hmu('TargetFlowTemp'), ochsner('DesiredHpFlow', 'temp')] },
  { group: 'sink', name: 'volume_l_h', sources: [hmu('BuildingCircuitFlow')] },
  {
    group: 'power',
    name: 'electrical_kw',
    sources: [hmu('CurrentConsumedPower'), hmu('RunDataElectricPowerConsumption', WATTS)],
  },
  { group: 'power', name: 'thermal_kw', sources: [hmu('CurrentYieldPower')] },
  { group: 'power', name: 'environment_kw', sources: [ehp('ActualEnvironmentPower')] },
  { group: 'energy', name: 'electrical_total_kwh', sources: [hmu('ConsumptionTotal')] },
  {
    group: 'energy',
    name: 'yield_total_kwh',
    sources: [hmu('YieldTotal'), ehp('YieldTotal'), { ...ochsner('HpHeatMwh', 'mwh'), factor: MEGAWATT_HOURS }],
  },
  { group: 'cop', name: 'heating', sources: [hmu('CopHc')] },
  { group: 'cop', name: 'heating_this_month', sources: [hmu('CopHcMonth')] },
  { group: 'cop', name: 'hot_water', sources: [hmu('CopHwc')] },
  { group: 'cop', name: 'hot_water_this_month', sources: [hmu('CopHwcMonth')] },
  { group: 'defrost', name: 'active', sources: [ehp('DeicingActive'), omu('DeicingActive')] },
  { group: 'backup_heater', name: 'state', sources: [hmu('ImmersionHeaterMode'), ehp('Backup')] },
  { group: 'backup_heater', name: 'hours', sources: [ehp('BackupHours')] },
]
