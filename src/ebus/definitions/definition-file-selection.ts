/**
 * Definition file selection: finds the definition file of a device by its identification.
 *
 *   vaillant/15.360.csv       manufacturer / address . identification [. circuit] [. SWxxxx] [. HWxxxx] .csv
 */
import type { BusDeviceIdentity } from '../wire/device-identity.ts'
import { EBUS_MANUFACTURER_NAMES } from '../wire/device-identity.ts'
import { parseDefinitionFileName } from './definition-file-name.ts'

/** Lists a folder, with paths from the root. */
export interface DefinitionFolderLister {
  list(folder: string): { readonly files: readonly string[]; readonly folders: readonly string[] }
}

export const ROOT_FOLDER = '.'

/** A file of the manufacturer, as in ebusd; or one of a brand, if it names the device. */
export function findDeviceDefinitionFile(
  listing: DefinitionFolderLister,
  address: number,
  identity: BusDeviceIdentity,
): string | undefined {
  const { files } = listing.list(toManufacturerFolder(identity))
  const own = selectBestDefinitionFile(files, address, identity)
  if (own !== undefined && namesIdentification(own)) return own
  const brands = listing.list(ROOT_FOLDER).folders.filter(isBrandFolder)
  const named = brands.flatMap((folder) => listing.list(folder).files).filter(namesIdentification)
  return selectBestDefinitionFile(named, address, identity) ?? own
}

function toManufacturerFolder({ manufacturer, manufacturerCode }: BusDeviceIdentity): string {
  const name = toFolderName(manufacturer)
  // A manufacturer without a name is known by its number.
  return name.startsWith('0x') ? String(manufacturerCode) : name
}

/** Folders are spelt without umlauts. */
function toFolderName(manufacturer: string): string {
  return manufacturer.toLowerCase().replaceAll('ä', 'ae').replaceAll('ö', 'oe').replaceAll('ü', 'ue')
}

const MANUFACTURER_FOLDERS: ReadonlySet<string> = new Set([...EBUS_MANUFACTURER_NAMES.values()].map(toFolderName))

/**
 * Whether the folder is not that of a manufacturer with a code, but of a brand, such as Ochsner, whose controllers are
 * made by another company.
 */
function isBrandFolder(folder: string): boolean {
  return !MANUFACTURER_FOLDERS.has(folder) && !/^\d+$/.test(folder)
}

/** Only files with an identification in their names: a file for any device would match every device of the bus. */
function namesIdentification(file: string): boolean {
  return (parseDefinitionFileName(file.slice(file.lastIndexOf('/') + 1))?.ident ?? '') !== ''
}

/** The file that matches most of the identification; of equal ones the longest name. */
export function selectBestDefinitionFile(
  files: readonly string[],
  address: number,
  identity: BusDeviceIdentity,
): string | undefined {
  const ident = identity.deviceId.toLowerCase().replaceAll(/[^a-z0-9_]/g, '')
  let best: { readonly file: string; readonly match: number } | undefined
  for (const file of files) {
    const name = parseDefinitionFileName(file.slice(file.lastIndexOf('/') + 1))
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

/** Trailing digits of the device may be missing in the name: 08.bai.csv describes BAI00. */
function matchIdent(ident: string, wanted: string): number {
  let rest = ident
  while (rest !== wanted) {
    if (rest.length <= wanted.length || !/\d$/.test(rest)) return 0
    rest = rest.slice(0, -1)
  }
  return rest.length + 1
}
