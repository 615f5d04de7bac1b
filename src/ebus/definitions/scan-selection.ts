/**
 * Scan selection: which definition file belongs to a device, by what it says about itself.
 *
 *   vaillant/15.360.csv       manufacturer / address . identification [. circuit] [. SWxxxx] [. HWxxxx] .csv
 */
import type { BusDeviceIdentity } from '../registry/identity.ts'
import { matchFileName } from './file-defaults.ts'

/** Folders are spelt without umlauts. */
export function manufacturerFolder({ manufacturer, manufacturerCode }: BusDeviceIdentity): string {
  const name = manufacturer.toLowerCase().replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue')
  // One without a name goes by its number.
  return name.startsWith('0x') ? String(manufacturerCode) : name
}

/** The file that says most about the device; of equally good ones the longest name. */
export function selectDefinitionFile(
  files: readonly string[],
  address: number,
  identity: BusDeviceIdentity,
): string | undefined {
  const ident = identity.deviceId.toLowerCase().replaceAll(/[^a-z0-9_]/g, '')
  let best: { readonly file: string; readonly match: number } | undefined
  for (const file of files) {
    const name = matchFileName(file.slice(file.lastIndexOf('/') + 1))
    if (name === undefined || name.address !== address) continue
    if (name.software !== undefined && name.software !== Number(identity.software)) continue
    if (name.hardware !== undefined && name.hardware !== Number(identity.hardware)) continue
    const match = name.ident === '' ? 1 : matchIdent(ident, name.ident)
    if (match === 0) continue
    if (best === undefined || match > best.match || (match === best.match && file.length > best.file.length))
      best = { file, match }
  }
  return best?.file
}

/** Trailing digits of the device may be missing in the name: BAI00 is described by 08.bai.csv. */
function matchIdent(ident: string, wanted: string): number {
  let rest = ident
  while (rest !== wanted) {
    if (rest.length <= wanted.length || !/\d$/.test(rest)) return 0
    rest = rest.slice(0, -1)
  }
  return rest.length + 1
}
