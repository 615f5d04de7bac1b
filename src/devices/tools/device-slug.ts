/**
 * Device slug: the short name under which a device's tools are listed, `device.<slug>.<tool>`.
 *
 *   "Küche – Lampe"  ▸  kuche-lampe          a second one of that name  ▸  kuche-lampe-e4f5
 *
 * The slug is assigned once, from the device's name when its tools were first listed, and kept, because approvals,
 * tokens and a model's memory contain it. It has no dots and no underscores, so that a capability's name can be split
 * again.
 */
const MAX_SLUG = 20
const MARK_LENGTHS: readonly number[] = [4, 6, 8, 12]

/** The first of `names` that contains a Latin letter or digit; `device` if none does. */
export function chooseSlugBase(names: readonly string[]): string {
  for (const name of names) {
    const slug = name
      .normalize('NFKD')
      .replaceAll(/\p{M}/gu, '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
    if (slug !== '') return slug.slice(0, MAX_SLUG).replace(/-+$/, '')
  }
  return 'device'
}

/** `base`, or `base` with as many digits of the MAC address as are needed to make it unique. */
export function createUniqueSlug(base: string, deviceId: string, isTaken: (slug: string) => boolean): string {
  if (!isTaken(base)) return base
  const digits = deviceId.replaceAll(':', '')
  for (const length of MARK_LENGTHS) {
    const slug = `${base}-${digits.slice(-length)}`
    if (!isTaken(slug)) return slug
  }
  for (let number = 2; ; number++) {
    const slug = `${base}-${digits}-${number}`
    if (!isTaken(slug)) return slug
  }
}

/** The device's target, as assessments, tokens and the owner's rules name it. */
export function formatDeviceTarget(slug: string): string {
  return `device:${slug}`
}
