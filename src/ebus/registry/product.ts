/**
 * Product: what a device is and which services it knows, by its product id. Register numbers are not unique on a bus:
 * the same number means different things at 08 depending on which boiler answers there.
 *
 * Pure.
 */
import type { Identity } from './identity.ts'
import { VAILLANT } from './identity.ts'

export type ProductKind =
  | 'boiler'
  | 'heat-pump'
  | 'regulator'
  | 'module'
  | 'remote'
  | 'internet-gateway'
  | 'solar'
  | 'other'

/** Where a regulator keeps its weekly programs. */
export type TimerService = 'b555' | 'b524' | 'none'

/** Which table of B509 registers applies. */
export type RegisterTable = 'bai' | 'none'

export interface Product {
  readonly kind: ProductKind
  readonly name: string
  /** Answers B524 with values worth reading. */
  readonly extended: boolean
  readonly timers: TimerService
  readonly registers: RegisterTable
}

interface Row extends Partial<Omit<Product, 'kind' | 'name'>> {
  /** The five characters of the identification, without blanks at the ends. */
  readonly ids: RegExp
  readonly kind: ProductKind
  readonly name: string
}

/** The first row that fits. */
const VAILLANT_PRODUCTS: readonly Row[] = [
  { ids: /^BAI\d\d$/, kind: 'boiler', name: 'gas boiler', registers: 'bai' },
  { ids: /^(HMU|EHP)\d\d$/, kind: 'heat-pump', name: 'heat pump' },
  { ids: /^(BAS[VS]\d|CTL[VS]\d|72000)$/, kind: 'regulator', name: '720 controller', extended: true, timers: 'b555' },
  { ids: /^(70000|700f0|B7S00|E7C00)$/i, kind: 'regulator', name: '700 controller', extended: true, timers: 'b524' },
  { ids: /^(BASR\d|CTLR\d)$/, kind: 'regulator', name: '380 controller', extended: true },
  { ids: /^(EMM00|4[37]000|6[23]000)$/, kind: 'regulator', name: 'older controller' },
  { ids: /^VR_7\d$/, kind: 'module', name: 'function module' },
  { ids: /^(VR_9\d|RC C|B7V00)$/, kind: 'remote', name: 'room thermostat' },
  { ids: /^(VAI00|NETX\d)$/, kind: 'internet-gateway', name: 'internet gateway' },
  { ids: /^SOL\d\d$/, kind: 'solar', name: 'solar module' },
]

/** Nothing is asked of what nobody knows: a register that is harmless elsewhere may not be there. */
const UNKNOWN: Product = { kind: 'other', name: 'device', extended: false, timers: 'none', registers: 'none' }

/** `other` for every maker but Vaillant: their ids mean nothing to this table. */
export function productOf(identity: Identity | undefined): Product {
  if (identity?.manufacturerCode !== VAILLANT) return UNKNOWN
  const row = VAILLANT_PRODUCTS.find(({ ids }) => ids.test(identity.deviceId))
  if (row === undefined) return UNKNOWN
  const { ids: _, ...product } = row
  return { ...UNKNOWN, ...product }
}
