/**
 * Heating product: the type of a device and the services that it supports, by its product id. Register numbers are not
 * unique on a bus: the same number means different things at 08 depending on which boiler answers there.
 */
import type { BusDeviceIdentity } from '../wire/device-identity.ts'
import { VAILLANT_MANUFACTURER_CODE } from '../wire/device-identity.ts'

export type HeatingProductKind =
  | 'boiler'
  | 'heat-pump'
  | 'heat-pump-module'
  | 'regulator'
  | 'module'
  | 'remote'
  | 'internet-gateway'
  | 'solar'
  | 'ventilation'
  | 'other'

/** Where a regulator stores its weekly programs. */
export type WeeklyProgramProtocol = 'b555' | 'b524' | 'none'

/** Which table of registers applies beside B524: B509 of a boiler, B51A of a heat pump. */
export type ProductRegisterTableName = 'bai' | 'hmu' | 'none'

export interface HeatingProduct {
  readonly kind: HeatingProductKind
  readonly name: string
  /** Whether B524 has useful values. */
  readonly extended: boolean
  readonly timers: WeeklyProgramProtocol
  readonly registers: ProductRegisterTableName
}

interface Row extends Partial<Omit<HeatingProduct, 'kind' | 'name'>> {
  /** The five characters of the identification, without blanks at the ends. */
  readonly ids: RegExp
  readonly kind: HeatingProductKind
  readonly name: string
}

/**
 * The first matching row is used. The services of a product are those that ebusd's definition file for it requests:
 * B7V00 has the 308 B524 registers of a 700 controller, E7C00 has B509 registers alone.
 */
const VAILLANT_PRODUCTS: readonly Row[] = [
  { ids: /^BAI\d\d$/, kind: 'boiler', name: 'gas boiler', registers: 'bai' },
  { ids: /^V3\d\d\d$/, kind: 'boiler', name: 'gas boiler' },
  { ids: /^HMU\d\d$/, kind: 'heat-pump', name: 'heat pump', registers: 'hmu' },
  { ids: /^(EHP|ZEO|OMU)\d\d$/, kind: 'heat-pump', name: 'heat pump' },
  { ids: /^VWZ(\d\d|IO)$/, kind: 'heat-pump-module', name: 'heat pump control module' },
  { ids: /^(BAS[VS]\d|CTL[VS]\d|72000)$/, kind: 'regulator', name: '720 controller', extended: true, timers: 'b555' },
  { ids: /^(70000|700f0|B7[SV]00)$/i, kind: 'regulator', name: '700 controller', extended: true, timers: 'b524' },
  { ids: /^(BASR\d|CTLR\d)$/, kind: 'regulator', name: '380 controller', extended: true },
  {
    ids: /^(EMM00|(1[46]0|3[567]0|36P|392|4[0357]0|6[23]0|F3[57]|F4[357])0{2,}|E7[CF]\w\w|UIH?\w*|HE[BP]\d\d|SDR_P)$/i,
    kind: 'regulator',
    name: 'older controller',
  },
  { ids: /^(VR_7\d|VR630|MC2\w*|PMW\d\d)$/, kind: 'module', name: 'function module' },
  { ids: /^(VR_9\d|RC C|RCC\w*|V81\w*)$/, kind: 'remote', name: 'room thermostat' },
  { ids: /^(VAI00|NETX\d)$/, kind: 'internet-gateway', name: 'internet gateway' },
  { ids: /^(SOL\w\w|PMS\d\d|VM[SD]\d\d)$/, kind: 'solar', name: 'solar module' },
  { ids: /^RECOV$/, kind: 'ventilation', name: 'ventilation' },
]

/** An unknown product is asked for nothing: a register that is harmless elsewhere may not be so there. */
const UNKNOWN: HeatingProduct = { kind: 'other', name: 'device', extended: false, timers: 'none', registers: 'none' }

/** Returns `other` for every manufacturer but Vaillant, because their ids mean nothing in this table. */
export function findHeatingProduct(identity: BusDeviceIdentity | undefined): HeatingProduct {
  if (identity?.manufacturerCode !== VAILLANT_MANUFACTURER_CODE) return UNKNOWN
  const row = VAILLANT_PRODUCTS.find(({ ids }) => ids.test(identity.deviceId))
  if (row === undefined) return UNKNOWN
  const { ids: _, ...product } = row
  return { ...UNKNOWN, ...product }
}
