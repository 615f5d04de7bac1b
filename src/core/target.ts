/**
 * Target: how a device is named where somebody says what may be done with it, in a rule or in a token.
 *
 *   homeseer:ref:141     device:desk-lamp     ebus:*     *
 */

/** The guard knows devices by their ids: a rule about what people call one would never apply. */
export const TARGET_PATTERN = /^(?:[^*:\s]+:[^*]*\*?|\*)$/

export const TARGET_FORMAT_HINT =
  'the id of a device, such as homeseer:ref:141 or device:desk-lamp (hearthbus approvals shows it), not its name; `*` may only stand at its end'
