/**
 * Characters that are invisible, or turn the direction of the text beside them. A joiner and a variation within an emoji, line ends and tabs
 * are none.
 */
const HIDDEN =
  /[\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb](?<!\p{Extended_Pictographic}\ufe0f)(?<!\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?\u200d(?=\p{Extended_Pictographic}))|[^\P{Cc}\t\n\r]/gu;

/** The text with escapes, as JSON has them, in place of hidden characters: it reads as what it is. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) =>
    [...Array(character.length).keys()]
      .map((unit) => String.raw`\u` + character.charCodeAt(unit).toString(16).padStart(4, '0'))
      .join(''),
  );
}
