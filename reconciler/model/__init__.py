"""Law: nouns only. Frozen values and total functions over them; nothing here touches the world or chooses."""
