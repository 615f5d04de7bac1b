/**
 * Device target pattern: how rules and tokens name the devices that they are about.
 *
 *   homeseer:ref:141     device:desk-lamp     ebus:*     *
 */

/** The guard knows devices by their ids, so a rule with the name that people use would never apply, and is refused. */
export const DEVICE_TARGET_PATTERN = /^(?:[^*:\s]+:[^*]*\*?|\*)$/

export const DEVICE_TARGET_FORMAT_HINT =
  'the id of a device, such as homeseer:ref:141 or device:desk-lamp (hearthbus approvals shows it), not its name; `*` may only stand at its end'
